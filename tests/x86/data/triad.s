	.type	__tvm_ffi_serial,@function
__tvm_ffi_serial:
	.loc	1 0 0
	pushq	%rbx
	cmpl	$3, %edx
	jne	.LBB0_64
	testq	%rsi, %rsi
	je	.LBB0_65
	movl	(%rsi), %eax
	cmpl	$63, %eax
	jle	.LBB0_7
	cmpl	$70, %eax
	jne	.LBB0_9
	movq	8(%rsi), %rax
	addq	$24, %rax
	movl	16(%rsi), %ecx
	cmpl	$63, %ecx
	jg	.LBB0_10
.LBB0_5:
	cmpl	$7, %ecx
	ja	.LBB0_61
	movl	$145, %edx
	btl	%ecx, %edx
	jb	.LBB0_14
	jmp	.LBB0_61
.LBB0_7:
	cmpl	$7, %eax
	ja	.LBB0_60
	movl	$145, %ecx
	btl	%eax, %ecx
	jae	.LBB0_60
.LBB0_9:
	movq	8(%rsi), %rax
	movl	16(%rsi), %ecx
	cmpl	$63, %ecx
	jle	.LBB0_5
.LBB0_10:
	cmpl	$70, %ecx
	jne	.LBB0_14
	movq	24(%rsi), %rdi
	addq	$24, %rdi
	movl	32(%rsi), %ecx
	cmpl	$63, %ecx
	jg	.LBB0_15
.LBB0_12:
	cmpl	$7, %ecx
	ja	.LBB0_62
	movl	$145, %edx
	btl	%ecx, %edx
	jb	.LBB0_17
	jmp	.LBB0_62
.LBB0_14:
	movq	24(%rsi), %rdi
	movl	32(%rsi), %ecx
	cmpl	$63, %ecx
	jle	.LBB0_12
.LBB0_15:
	cmpl	$70, %ecx
	jne	.LBB0_17
	movq	40(%rsi), %r8
	addq	$24, %r8
	jmp	.LBB0_18
.LBB0_17:
	movq	40(%rsi), %r8
.LBB0_18:
	testq	%rax, %rax
	je	.LBB0_60
	cmpl	$1, 16(%rax)
	jne	.LBB0_66
	cmpw	$1, 22(%rax)
	jne	.LBB0_67
	cmpb	$32, 21(%rax)
	jne	.LBB0_67
	cmpb	$2, 20(%rax)
	jne	.LBB0_67
	cmpl	$1, 8(%rax)
	jne	.LBB0_68
	testq	%rdi, %rdi
	je	.LBB0_61
	cmpl	$1, 16(%rdi)
	jne	.LBB0_69
	cmpw	$1, 22(%rdi)
	jne	.LBB0_70
	cmpb	$32, 21(%rdi)
	jne	.LBB0_70
	cmpb	$2, 20(%rdi)
	jne	.LBB0_70
	cmpl	$1, 8(%rdi)
	jne	.LBB0_71
	testq	%r8, %r8
	je	.LBB0_62
	cmpl	$1, 16(%r8)
	jne	.LBB0_72
	cmpw	$1, 22(%r8)
	jne	.LBB0_73
	cmpb	$32, 21(%r8)
	jne	.LBB0_73
	cmpb	$2, 20(%r8)
	jne	.LBB0_73
	cmpl	$1, 8(%r8)
	jne	.LBB0_74
	movq	24(%rax), %r11
	movq	32(%rax), %rcx
	movl	12(%rax), %esi
	movq	24(%rdi), %r10
	movq	32(%rdi), %rdx
	movq	24(%r8), %r9
	movq	32(%r8), %rbx
	testq	%rcx, %rcx
	je	.LBB0_38
	cmpl	$1, (%rcx)
	jne	.LBB0_75
.LBB0_38:
	movq	(%rax), %rcx
	testq	%rcx, %rcx
	je	.LBB0_76
	testq	%rdx, %rdx
	je	.LBB0_41
	cmpl	$1, (%rdx)
	jne	.LBB0_77
.LBB0_41:
	cmpl	12(%rdi), %esi
	jne	.LBB0_78
	movq	(%rdi), %rdx
	testq	%rdx, %rdx
	je	.LBB0_79
	testq	%rbx, %rbx
	je	.LBB0_45
	cmpl	$1, (%rbx)
	jne	.LBB0_80
.LBB0_45:
	cmpl	12(%r8), %esi
	jne	.LBB0_82
	movq	(%r8), %rsi
	testq	%rsi, %rsi
	je	.LBB0_83
	cmpl	$2048, (%r11)
	jne	.LBB0_88
	cmpq	$0, 40(%rax)
	jne	.LBB0_90
	cmpl	$2048, (%r10)
	jne	.LBB0_94
	cmpq	$0, 40(%rdi)
	jne	.LBB0_95
	cmpl	$2048, (%r9)
	jne	.LBB0_97
	cmpq	$0, 40(%r8)
	jne	.LBB0_98
	movq	%rcx, %rax
	subq	%rsi, %rax
	cmpq	$256, %rax
	.loc	1 99 13
	jb	.LBB0_58
	.loc	1 0 0 is_stmt 0
	movq	%rcx, %rax
	subq	%rdx, %rax
	.loc	1 99 13
	cmpq	$256, %rax
	jb	.LBB0_58
	.loc	1 0 13
	vbroadcastss	.LCPI0_0(%rip), %zmm0
	xorl	%eax, %eax
	xorl	%edi, %edi
.LBB0_56:
	.loc	1 99 13 is_stmt 1
	vmovaps	(%rsi,%rdi,4), %zmm1
	vmovaps	64(%rsi,%rdi,4), %zmm2
	vmovaps	128(%rsi,%rdi,4), %zmm3
	vmovaps	192(%rsi,%rdi,4), %zmm4
	vfmadd213ps	(%rdx,%rdi,4), %zmm0, %zmm1
	vfmadd213ps	64(%rdx,%rdi,4), %zmm0, %zmm2
	vfmadd213ps	128(%rdx,%rdi,4), %zmm0, %zmm3
	vfmadd213ps	192(%rdx,%rdi,4), %zmm0, %zmm4
	vmovaps	%zmm1, (%rcx,%rdi,4)
	vmovaps	%zmm2, 64(%rcx,%rdi,4)
	vmovaps	%zmm3, 128(%rcx,%rdi,4)
	vmovaps	%zmm4, 192(%rcx,%rdi,4)
	vmovaps	256(%rsi,%rdi,4), %zmm1
	vmovaps	320(%rsi,%rdi,4), %zmm2
	vmovaps	384(%rsi,%rdi,4), %zmm3
	vmovaps	448(%rsi,%rdi,4), %zmm4
	vfmadd213ps	256(%rdx,%rdi,4), %zmm0, %zmm1
	vfmadd213ps	320(%rdx,%rdi,4), %zmm0, %zmm2
	vfmadd213ps	384(%rdx,%rdi,4), %zmm0, %zmm3
	vfmadd213ps	448(%rdx,%rdi,4), %zmm0, %zmm4
	vmovaps	%zmm1, 256(%rcx,%rdi,4)
	vmovaps	%zmm2, 320(%rcx,%rdi,4)
	vmovaps	%zmm3, 384(%rcx,%rdi,4)
	vmovaps	%zmm4, 448(%rcx,%rdi,4)
	vmovaps	512(%rsi,%rdi,4), %zmm1
	vmovaps	576(%rsi,%rdi,4), %zmm2
	vmovaps	640(%rsi,%rdi,4), %zmm3
	vmovaps	704(%rsi,%rdi,4), %zmm4
	vfmadd213ps	512(%rdx,%rdi,4), %zmm0, %zmm1
	vfmadd213ps	576(%rdx,%rdi,4), %zmm0, %zmm2
	vfmadd213ps	640(%rdx,%rdi,4), %zmm0, %zmm3
	vfmadd213ps	704(%rdx,%rdi,4), %zmm0, %zmm4
	vmovaps	%zmm1, 512(%rcx,%rdi,4)
	vmovaps	%zmm2, 576(%rcx,%rdi,4)
	vmovaps	%zmm3, 640(%rcx,%rdi,4)
	vmovaps	%zmm4, 704(%rcx,%rdi,4)
	vmovaps	768(%rsi,%rdi,4), %zmm1
	vmovaps	832(%rsi,%rdi,4), %zmm2
	vmovaps	896(%rsi,%rdi,4), %zmm3
	vmovaps	960(%rsi,%rdi,4), %zmm4
	vfmadd213ps	768(%rdx,%rdi,4), %zmm0, %zmm1
	vfmadd213ps	832(%rdx,%rdi,4), %zmm0, %zmm2
	vfmadd213ps	896(%rdx,%rdi,4), %zmm0, %zmm3
	vfmadd213ps	960(%rdx,%rdi,4), %zmm0, %zmm4
	vmovaps	%zmm1, 768(%rcx,%rdi,4)
	vmovaps	%zmm2, 832(%rcx,%rdi,4)
	vmovaps	%zmm3, 896(%rcx,%rdi,4)
	vmovaps	%zmm4, 960(%rcx,%rdi,4)
	addq	$256, %rdi
	.loc	1 0 0 is_stmt 0
	cmpq	$2048, %rdi
	jne	.LBB0_56
.LBB0_57:
	popq	%rbx
	vzeroupper
	retq
.LBB0_58:
	vmovss	.LCPI0_0(%rip), %xmm0
	xorl	%eax, %eax
	xorl	%edi, %edi
.LBB0_59:
	.loc	1 99 13 is_stmt 1
	vmovss	(%rsi,%rdi,4), %xmm1
	vfmadd213ss	(%rdx,%rdi,4), %xmm0, %xmm1
	vmovss	%xmm1, (%rcx,%rdi,4)
	vmovss	4(%rsi,%rdi,4), %xmm1
	vfmadd213ss	4(%rdx,%rdi,4), %xmm0, %xmm1
	vmovss	%xmm1, 4(%rcx,%rdi,4)
	vmovss	8(%rsi,%rdi,4), %xmm1
	vfmadd213ss	8(%rdx,%rdi,4), %xmm0, %xmm1
	vmovss	%xmm1, 8(%rcx,%rdi,4)
	vmovss	12(%rsi,%rdi,4), %xmm1
	vfmadd213ss	12(%rdx,%rdi,4), %xmm0, %xmm1
	vmovss	%xmm1, 12(%rcx,%rdi,4)
	vmovss	16(%rsi,%rdi,4), %xmm1
	vfmadd213ss	16(%rdx,%rdi,4), %xmm0, %xmm1
	vmovss	%xmm1, 16(%rcx,%rdi,4)
	vmovss	20(%rsi,%rdi,4), %xmm1
	vfmadd213ss	20(%rdx,%rdi,4), %xmm0, %xmm1
	vmovss	%xmm1, 20(%rcx,%rdi,4)
	vmovss	24(%rsi,%rdi,4), %xmm1
	vfmadd213ss	24(%rdx,%rdi,4), %xmm0, %xmm1
	vmovss	%xmm1, 24(%rcx,%rdi,4)
	vmovss	28(%rsi,%rdi,4), %xmm1
	vfmadd213ss	28(%rdx,%rdi,4), %xmm0, %xmm1
	vmovss	%xmm1, 28(%rcx,%rdi,4)
	vmovss	32(%rsi,%rdi,4), %xmm1
	vfmadd213ss	32(%rdx,%rdi,4), %xmm0, %xmm1
	vmovss	%xmm1, 32(%rcx,%rdi,4)
	vmovss	36(%rsi,%rdi,4), %xmm1
	vfmadd213ss	36(%rdx,%rdi,4), %xmm0, %xmm1
	vmovss	%xmm1, 36(%rcx,%rdi,4)
	vmovss	40(%rsi,%rdi,4), %xmm1
	vfmadd213ss	40(%rdx,%rdi,4), %xmm0, %xmm1
	vmovss	%xmm1, 40(%rcx,%rdi,4)
	vmovss	44(%rsi,%rdi,4), %xmm1
	vfmadd213ss	44(%rdx,%rdi,4), %xmm0, %xmm1
	vmovss	%xmm1, 44(%rcx,%rdi,4)
	vmovss	48(%rsi,%rdi,4), %xmm1
	vfmadd213ss	48(%rdx,%rdi,4), %xmm0, %xmm1
	vmovss	%xmm1, 48(%rcx,%rdi,4)
	vmovss	52(%rsi,%rdi,4), %xmm1
	vfmadd213ss	52(%rdx,%rdi,4), %xmm0, %xmm1
	vmovss	%xmm1, 52(%rcx,%rdi,4)
	vmovss	56(%rsi,%rdi,4), %xmm1
	vfmadd213ss	56(%rdx,%rdi,4), %xmm0, %xmm1
	vmovss	%xmm1, 56(%rcx,%rdi,4)
	vmovss	60(%rsi,%rdi,4), %xmm1
	vfmadd213ss	60(%rdx,%rdi,4), %xmm0, %xmm1
	vmovss	%xmm1, 60(%rcx,%rdi,4)
	addq	$16, %rdi
	.loc	1 0 0 is_stmt 0
	cmpq	$2048, %rdi
	je	.LBB0_57
	jmp	.LBB0_59
.LBB0_60:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.9(%rip), %rcx
	jmp	.LBB0_63
.LBB0_61:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.12(%rip), %rcx
	jmp	.LBB0_63
.LBB0_62:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.13(%rip), %rcx
.LBB0_63:
	leaq	.L.str.4(%rip), %r8
	leaq	.L.str.5(%rip), %r9
	jmp	.LBB0_85
.LBB0_64:
	leaq	.L.str.6(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.1(%rip), %rdx
	leaq	.L.str.2(%rip), %rcx
	leaq	.L.str.3(%rip), %r8
	jmp	.LBB0_84
.LBB0_65:
	subq	$16, %rsp
	vxorps	%xmm0, %xmm0, %xmm0
	vmovups	%xmm0, (%rsp)
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.7(%rip), %rdx
	leaq	.L.str.4(%rip), %rcx
	leaq	.L.str.5(%rip), %r8
	leaq	.L.str.6(%rip), %r9
	movl	$4, %esi
	jmp	.LBB0_86
.LBB0_66:
	leaq	.L.str.12(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	jmp	.LBB0_89
.LBB0_67:
	leaq	.L.str.19(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	jmp	.LBB0_89
.LBB0_68:
	leaq	.L.str.21(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.20(%rip), %r8
	jmp	.LBB0_89
.LBB0_69:
	leaq	.L.str.12(%rip), %r9
	leaq	.L.str.10(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	jmp	.LBB0_91
.LBB0_70:
	leaq	.L.str.19(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_101
.LBB0_71:
	leaq	.L.str.21(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.20(%rip), %r8
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_101
.LBB0_72:
	leaq	.L.str.12(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.23(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	jmp	.LBB0_100
.LBB0_73:
	leaq	.L.str.19(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.23(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	jmp	.LBB0_100
.LBB0_74:
	leaq	.L.str.21(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.23(%rip), %rcx
	leaq	.L.str.20(%rip), %r8
	jmp	.LBB0_100
.LBB0_75:
	leaq	.L.str.25(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.24(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_81
.LBB0_76:
	leaq	.L.str.27(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.26(%rip), %rcx
	leaq	.L.str.9(%rip), %r8
	jmp	.LBB0_84
.LBB0_77:
	leaq	.L.str.25(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.24(%rip), %r8
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_81
.LBB0_78:
	leaq	.L.str.31(%rip), %rax
	leaq	.L.str.30(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.28(%rip), %rcx
	jmp	.LBB0_96
.LBB0_79:
	leaq	.L.str.27(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.22(%rip), %rdx
	leaq	.L.str.26(%rip), %rcx
	leaq	.L.str.12(%rip), %r8
	jmp	.LBB0_84
.LBB0_80:
	leaq	.L.str.25(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.23(%rip), %rcx
	leaq	.L.str.24(%rip), %r8
	leaq	.L.str.13(%rip), %r9
.LBB0_81:
	movl	$7, %esi
	pushq	$0
	jmp	.LBB0_92
.LBB0_82:
	leaq	.L.str.31(%rip), %rax
	leaq	.L.str.30(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.32(%rip), %rcx
	jmp	.LBB0_99
.LBB0_83:
	leaq	.L.str.27(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.23(%rip), %rdx
	leaq	.L.str.26(%rip), %rcx
	leaq	.L.str.13(%rip), %r8
.LBB0_84:
	leaq	.L.str.4(%rip), %r9
.LBB0_85:
	movl	$6, %esi
	pushq	%rax
	pushq	%r10
.LBB0_86:
	callq	__tvm_set_raised_6
	addq	$16, %rsp
	movl	$-1, %eax
	popq	%rbx
	retq
.LBB0_88:
	leaq	.L.str.35(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.33(%rip), %rdx
	leaq	.L.str.34(%rip), %rcx
	leaq	.L.str.29(%rip), %r8
.LBB0_89:
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_101
.LBB0_90:
	leaq	.L.str.9(%rip), %r9
	leaq	.L.str.10(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.33(%rip), %rdx
	leaq	.L.str.36(%rip), %rcx
	leaq	.L.str.29(%rip), %r8
.LBB0_91:
	movl	$8, %esi
	pushq	%r9
.LBB0_92:
	pushq	%rax
	jmp	.LBB0_93
.LBB0_94:
	leaq	.L.str.35(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.33(%rip), %rdx
	leaq	.L.str.37(%rip), %rcx
	jmp	.LBB0_96
.LBB0_95:
	leaq	.L.str.9(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.33(%rip), %rdx
	leaq	.L.str.38(%rip), %rcx
.LBB0_96:
	leaq	.L.str.29(%rip), %r8
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_101
.LBB0_97:
	leaq	.L.str.35(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.33(%rip), %rdx
	leaq	.L.str.39(%rip), %rcx
	jmp	.LBB0_99
.LBB0_98:
	leaq	.L.str.9(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.33(%rip), %rdx
	leaq	.L.str.40(%rip), %rcx
.LBB0_99:
	leaq	.L.str.29(%rip), %r8
.LBB0_100:
	leaq	.L.str.13(%rip), %r9
.LBB0_101:
	movl	$8, %esi
	pushq	%rax
	pushq	%r10
.LBB0_93:
	callq	__tvm_set_raised_12
	addq	$16, %rsp
	movl	$-1, %eax
	popq	%rbx
	retq
	.type	__tvm_set_raised_6,@function
__tvm_set_raised_6:
	subq	$56, %rsp
	vmovaps	64(%rsp), %xmm0
	movl	%esi, %eax
	leaq	8(%rsp), %rsi
	movq	%rdx, 8(%rsp)
	movq	%rcx, 16(%rsp)
	movq	%r8, 24(%rsp)
	movq	%r9, 32(%rsp)
	movl	%eax, %edx
	vmovups	%xmm0, 40(%rsp)
	callq	TVMFFIErrorSetRaisedFromCStrParts@PLT
	addq	$56, %rsp
	retq
	.type	__tvm_set_raised_12,@function
__tvm_set_raised_12:
	subq	$104, %rsp
	vmovaps	112(%rsp), %xmm0
	movq	%rdx, 8(%rsp)
	movq	%rcx, 16(%rsp)
	leaq	.L.str.4(%rip), %rcx
	movl	%esi, %eax
	movq	%r8, 24(%rsp)
	movq	%r9, 32(%rsp)
	leaq	8(%rsp), %rsi
	movl	%eax, %edx
	movq	%rcx, 40(%rsp)
	leaq	.L.str.5(%rip), %rcx
	movq	%rcx, 48(%rsp)
	vmovups	%xmm0, 56(%rsp)
	vxorps	%xmm0, %xmm0, %xmm0
	vmovups	%ymm0, 72(%rsp)
	vzeroupper
	callq	TVMFFIErrorSetRaisedFromCStrParts@PLT
	addq	$104, %rsp
	retq
	.type	__tvm_ffi_main,@function
__tvm_ffi_main:
	jmp	__tvm_ffi_serial@PLT
	.type	__truncsfhf2,@function
__truncsfhf2:
	vmovd	%xmm0, %eax
	movl	%eax, %edx
	andl	$2147483647, %edx
	leal	-947912704(%rdx), %ecx
	leal	-1199570944(%rdx), %esi
	cmpl	%esi, %ecx
	jae	.LBB4_5
	movl	%eax, %edx
	movl	%eax, %esi
	shrl	$13, %edx
	andl	$8191, %esi
	cmpl	$4097, %esi
	jb	.LBB4_3
	addl	$-114687, %edx
	movl	%edx, %ecx
	jmp	.LBB4_13
.LBB4_5:
	cmpl	$2139095041, %edx
	jb	.LBB4_7
	movl	$2317, %ecx
	bextrl	%ecx, %eax, %ecx
	orl	$32256, %ecx
	jmp	.LBB4_13
.LBB4_3:
	leal	-114688(%rdx), %ecx
	cmpl	$4096, %esi
	jne	.LBB4_13
	andl	$1, %edx
	addl	%edx, %ecx
	jmp	.LBB4_13
.LBB4_7:
	movl	$31744, %ecx
	cmpl	$1199570943, %edx
	ja	.LBB4_13
	xorl	%ecx, %ecx
	cmpl	$754974720, %edx
	jb	.LBB4_13
	movl	%eax, %ecx
	andl	$8388607, %ecx
	shrl	$23, %edx
	xorl	%edi, %edi
	orl	$8388608, %ecx
	leal	-81(%rdx), %esi
	shlxl	%esi, %ecx, %esi
	testl	%esi, %esi
	movb	$113, %sil
	setne	%dil
	subb	%dl, %sil
	shrxl	%esi, %ecx, %edx
	movl	%edx, %ecx
	andl	$8191, %edx
	shrl	$13, %ecx
	orl	%edi, %edx
	cmpl	$4097, %edx
	jb	.LBB4_11
	incl	%ecx
	jmp	.LBB4_13
.LBB4_11:
	cmpl	$4096, %edx
	jne	.LBB4_13
	movl	%ecx, %edx
	andl	$1, %edx
	addl	%edx, %ecx
.LBB4_13:
	shrl	$16, %eax
	andl	$32768, %eax
	orl	%ecx, %eax
	vpinsrw	$0, %eax, %xmm0, %xmm0
	retq
	.type	__extendhfsf2,@function
__extendhfsf2:
	vpextrw	$0, %xmm0, %eax
	movl	%eax, %ecx
	andl	$32767, %ecx
	leal	-1024(%rcx), %edx
	cmpw	$30719, %dx
	ja	.LBB5_2
	shll	$13, %ecx
	addl	$939524096, %ecx
	jmp	.LBB5_7
.LBB5_2:
	cmpw	$31744, %cx
	jb	.LBB5_4
	shll	$13, %ecx
	orl	$2139095040, %ecx
	jmp	.LBB5_7
.LBB5_4:
	testl	%ecx, %ecx
	je	.LBB5_5
	movl	%ecx, %edx
	shrl	$8, %edx
	xorl	%esi, %esi
	cmpw	$256, %cx
	setb	%sil
	cmovbl	%ecx, %edx
	movl	%edx, %r8d
	leal	24(,%rsi,8), %edi
	shrl	$4, %r8d
	cmpl	$16, %edx
	leal	20(,%rsi,8), %esi
	cmovbl	%edx, %r8d
	cmovbl	%edi, %esi
	movl	%r8d, %edx
	shrl	$2, %edx
	cmpl	$4, %r8d
	leal	-2(%rsi), %edi
	cmovbl	%r8d, %edx
	cmovbl	%esi, %edi
	movl	%edx, %esi
	negl	%esi
	cmpl	$2, %edx
	movl	$-2, %edx
	cmovbl	%esi, %edx
	addl	%edi, %edx
	leal	-8(%rdx), %esi
	shll	$23, %edx
	shlxl	%esi, %ecx, %esi
	movl	$1124073472, %ecx
	xorl	$8388608, %esi
	subl	%edx, %ecx
	orl	%esi, %ecx
	jmp	.LBB5_7
.LBB5_5:
	xorl	%ecx, %ecx
.LBB5_7:
	andl	$32768, %eax
	shll	$16, %eax
	orl	%ecx, %eax
	vmovd	%eax, %xmm0
	retq
.Ldebug_loc0:
.Ldebug_loc1:
.Ldebug_loc2:
.Ldebug_loc3:
.Ldebug_loc4:
.Ldebug_loc5:
.Ldebug_loc6:
.Ldebug_loc7:
.Ldebug_loc8:
.Ldebug_loc9:
.Ldebug_loc10:
.Ldebug_loc11:
.Ldebug_loc12:
.Ldebug_loc13:
.Ldebug_loc14:
.Ldebug_loc15:
.Lcu_begin0:
.Ldebug_info_start0:
.Ldebug_info_end0:
.Ldebug_ranges0:
.Linfo_string0:
.Linfo_string1:
.Linfo_string2:
.Linfo_string3:
.Linfo_string4:
.Linfo_string5:
.Linfo_string6:
.Linfo_string7:
.Linfo_string8:
.Linfo_string9:
.Linfo_string10:
.Linfo_string11:
.Linfo_string12:
.Linfo_string13:
.Linfo_string14:
.Linfo_string15:
.Linfo_string16:
.Linfo_string17:
.Linfo_string18:
.Linfo_string19:
.Linfo_string20:
.Linfo_string21:
.Linfo_string22:
.Linfo_string23:
.Linfo_string24:
.Linfo_string25:
.LpubNames_start0:
.LpubNames_end0:
.LpubTypes_start0:
.LpubTypes_end0:
.Lline_table_start0:
