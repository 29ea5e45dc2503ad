	.type	__tvm_ffi_dots,@function
__tvm_ffi_dots:
	.loc	1 0 0
	pushq	%rbx
	cmpl	$3, %edx
	jne	.LBB0_7
	testq	%rsi, %rsi
	je	.LBB0_8
	movl	(%rsi), %eax
	cmpl	$63, %eax
	jle	.LBB0_9
	cmpl	$70, %eax
	jne	.LBB0_11
	movq	8(%rsi), %rax
	addq	$24, %rax
	movl	16(%rsi), %ecx
	cmpl	$63, %ecx
	jg	.LBB0_12
.LBB0_5:
	cmpl	$7, %ecx
	ja	.LBB0_68
	movl	$145, %edx
	btl	%ecx, %edx
	jb	.LBB0_16
	jmp	.LBB0_68
.LBB0_7:
	leaq	.L.str.6(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.1(%rip), %rdx
	leaq	.L.str.2(%rip), %rcx
	leaq	.L.str.3(%rip), %r8
	jmp	.LBB0_86
.LBB0_8:
	subq	$16, %rsp
	vpxor	%xmm0, %xmm0, %xmm0
	vmovdqu	%xmm0, (%rsp)
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.7(%rip), %rdx
	leaq	.L.str.4(%rip), %rcx
	leaq	.L.str.5(%rip), %r8
	leaq	.L.str.6(%rip), %r9
	movl	$4, %esi
	jmp	.LBB0_88
.LBB0_9:
	cmpl	$7, %eax
	ja	.LBB0_64
	movl	$145, %ecx
	btl	%eax, %ecx
	jae	.LBB0_64
.LBB0_11:
	movq	8(%rsi), %rax
	movl	16(%rsi), %ecx
	cmpl	$63, %ecx
	jle	.LBB0_5
.LBB0_12:
	cmpl	$70, %ecx
	jne	.LBB0_16
	movq	24(%rsi), %rcx
	addq	$24, %rcx
	movl	32(%rsi), %edx
	cmpl	$63, %edx
	jg	.LBB0_17
.LBB0_14:
	cmpl	$7, %edx
	ja	.LBB0_72
	movl	$145, %edi
	btl	%edx, %edi
	jb	.LBB0_63
	jmp	.LBB0_72
.LBB0_16:
	movq	24(%rsi), %rcx
	movl	32(%rsi), %edx
	cmpl	$63, %edx
	jle	.LBB0_14
.LBB0_17:
	cmpl	$70, %edx
	jne	.LBB0_63
	movq	40(%rsi), %rsi
	addq	$24, %rsi
	testq	%rax, %rax
	je	.LBB0_64
.LBB0_19:
	cmpl	$2, 16(%rax)
	jne	.LBB0_65
	cmpw	$1, 22(%rax)
	jne	.LBB0_66
	cmpb	$32, 21(%rax)
	jne	.LBB0_66
	cmpb	$2, 20(%rax)
	jne	.LBB0_66
	cmpl	$1, 8(%rax)
	jne	.LBB0_67
	testq	%rcx, %rcx
	je	.LBB0_68
	cmpl	$2, 16(%rcx)
	jne	.LBB0_69
	cmpw	$1, 22(%rcx)
	jne	.LBB0_70
	cmpb	$32, 21(%rcx)
	jne	.LBB0_70
	cmpb	$2, 20(%rcx)
	jne	.LBB0_70
	cmpl	$1, 8(%rcx)
	jne	.LBB0_71
	testq	%rsi, %rsi
	je	.LBB0_72
	cmpl	$2, 16(%rsi)
	jne	.LBB0_74
	cmpw	$1, 22(%rsi)
	jne	.LBB0_75
	cmpb	$32, 21(%rsi)
	jne	.LBB0_75
	cmpb	$2, 20(%rsi)
	jne	.LBB0_75
	cmpl	$1, 8(%rsi)
	jne	.LBB0_76
	movq	24(%rax), %r11
	movq	32(%rax), %rdx
	movl	12(%rax), %r8d
	movq	24(%rcx), %r10
	movq	32(%rcx), %rdi
	movq	24(%rsi), %r9
	movq	32(%rsi), %rbx
	testq	%rdx, %rdx
	je	.LBB0_38
	vpxor	%xmm0, %xmm0, %xmm0
	vpblendd	$5, (%rdx), %xmm0, %xmm0
	vpxor	.LCPI0_0(%rip), %xmm0, %xmm0
	vptest	%xmm0, %xmm0
	jne	.LBB0_77
.LBB0_38:
	movq	(%rax), %rdx
	testq	%rdx, %rdx
	je	.LBB0_78
	testq	%rdi, %rdi
	je	.LBB0_41
	vpxor	%xmm0, %xmm0, %xmm0
	vpblendd	$5, (%rdi), %xmm0, %xmm0
	vpxor	.LCPI0_0(%rip), %xmm0, %xmm0
	vptest	%xmm0, %xmm0
	jne	.LBB0_79
.LBB0_41:
	cmpl	12(%rcx), %r8d
	jne	.LBB0_80
	movq	(%rcx), %rdi
	testq	%rdi, %rdi
	je	.LBB0_81
	testq	%rbx, %rbx
	je	.LBB0_45
	vpxor	%xmm0, %xmm0, %xmm0
	vpblendd	$5, (%rbx), %xmm0, %xmm0
	vpxor	.LCPI0_0(%rip), %xmm0, %xmm0
	vptest	%xmm0, %xmm0
	jne	.LBB0_82
.LBB0_45:
	cmpl	12(%rsi), %r8d
	jne	.LBB0_84
	movq	(%rsi), %r8
	testq	%r8, %r8
	je	.LBB0_85
	cmpl	$96, (%r11)
	jne	.LBB0_89
	cmpl	$96, 8(%r11)
	jne	.LBB0_90
	cmpq	$0, 40(%rax)
	jne	.LBB0_92
	cmpl	$96, (%r10)
	jne	.LBB0_96
	cmpl	$96, 8(%r10)
	jne	.LBB0_97
	cmpq	$0, 40(%rcx)
	jne	.LBB0_98
	cmpl	$96, (%r9)
	jne	.LBB0_101
	cmpl	$96, 8(%r9)
	jne	.LBB0_102
	cmpq	$0, 40(%rsi)
	jne	.LBB0_103
	xorl	%eax, %eax
.LBB0_57:
	leaq	(%rax,%rax,2), %rcx
	movq	%rdi, %rsi
	xorl	%r9d, %r9d
	shlq	$7, %rcx
	addq	%r8, %rcx
.LBB0_58:
	movl	$11, %r10d
	.loc	1 24 13
	movl	$0, (%rcx,%r9,4)
	vpxor	%xmm0, %xmm0, %xmm0
	movq	%rsi, %r11
	.loc	1 0 13 is_stmt 0
.LBB0_59:
	.loc	1 26 17 is_stmt 1
	vmovss	-44(%rdx,%r10,4), %xmm1
	vfmadd132ss	(%r11), %xmm0, %xmm1
	vmovss	%xmm1, (%rcx,%r9,4)
	vmovss	-40(%rdx,%r10,4), %xmm0
	vfmadd132ss	384(%r11), %xmm1, %xmm0
	vmovss	%xmm0, (%rcx,%r9,4)
	vmovss	-36(%rdx,%r10,4), %xmm1
	vfmadd132ss	768(%r11), %xmm0, %xmm1
	vmovss	%xmm1, (%rcx,%r9,4)
	vmovss	-32(%rdx,%r10,4), %xmm0
	vfmadd132ss	1152(%r11), %xmm1, %xmm0
	vmovss	%xmm0, (%rcx,%r9,4)
	vmovss	-28(%rdx,%r10,4), %xmm1
	vfmadd132ss	1536(%r11), %xmm0, %xmm1
	vmovss	%xmm1, (%rcx,%r9,4)
	vmovss	-24(%rdx,%r10,4), %xmm0
	vfmadd132ss	1920(%r11), %xmm1, %xmm0
	vmovss	%xmm0, (%rcx,%r9,4)
	vmovss	-20(%rdx,%r10,4), %xmm1
	vfmadd132ss	2304(%r11), %xmm0, %xmm1
	vmovss	%xmm1, (%rcx,%r9,4)
	vmovss	-16(%rdx,%r10,4), %xmm0
	vfmadd132ss	2688(%r11), %xmm1, %xmm0
	vmovss	%xmm0, (%rcx,%r9,4)
	vmovss	-12(%rdx,%r10,4), %xmm1
	vfmadd132ss	3072(%r11), %xmm0, %xmm1
	vmovss	%xmm1, (%rcx,%r9,4)
	vmovss	-8(%rdx,%r10,4), %xmm0
	vfmadd132ss	3456(%r11), %xmm1, %xmm0
	vmovss	%xmm0, (%rcx,%r9,4)
	vmovss	-4(%rdx,%r10,4), %xmm1
	vfmadd132ss	3840(%r11), %xmm0, %xmm1
	vmovss	%xmm1, (%rcx,%r9,4)
	vmovss	(%rdx,%r10,4), %xmm0
	.loc	1 0 0 is_stmt 0
	addq	$12, %r10
	.loc	1 26 17
	vfmadd132ss	4224(%r11), %xmm1, %xmm0
	.loc	1 0 0
	addq	$4608, %r11
	.loc	1 26 17
	vmovss	%xmm0, (%rcx,%r9,4)
	.loc	1 0 0
	cmpq	$107, %r10
	jne	.LBB0_59
	.loc	1 26 17
	incq	%r9
	.loc	1 0 0
	addq	$4, %rsi
	cmpq	$96, %r9
	jne	.LBB0_58
	.loc	1 26 17
	incq	%rax
	.loc	1 0 0
	addq	$384, %rdx
	cmpq	$96, %rax
	jne	.LBB0_57
	xorl	%eax, %eax
	popq	%rbx
	retq
.LBB0_63:
	movq	40(%rsi), %rsi
	testq	%rax, %rax
	jne	.LBB0_19
.LBB0_64:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.9(%rip), %rcx
	jmp	.LBB0_73
.LBB0_65:
	leaq	.L.str.13(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_106
.LBB0_66:
	leaq	.L.str.19(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_106
.LBB0_67:
	leaq	.L.str.21(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.20(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_106
.LBB0_68:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.12(%rip), %rcx
	jmp	.LBB0_73
.LBB0_69:
	leaq	.L.str.13(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	jmp	.LBB0_100
.LBB0_70:
	leaq	.L.str.19(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	jmp	.LBB0_100
.LBB0_71:
	leaq	.L.str.21(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.20(%rip), %r8
	jmp	.LBB0_100
.LBB0_72:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.13(%rip), %rcx
.LBB0_73:
	leaq	.L.str.4(%rip), %r8
	leaq	.L.str.5(%rip), %r9
	jmp	.LBB0_87
.LBB0_74:
	leaq	.L.str.13(%rip), %r9
	leaq	.L.str.10(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.23(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	jmp	.LBB0_93
.LBB0_75:
	leaq	.L.str.19(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.23(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	jmp	.LBB0_105
.LBB0_76:
	leaq	.L.str.21(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.23(%rip), %rcx
	leaq	.L.str.20(%rip), %r8
	jmp	.LBB0_105
.LBB0_77:
	leaq	.L.str.25(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.24(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_83
.LBB0_78:
	leaq	.L.str.27(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.26(%rip), %rcx
	leaq	.L.str.9(%rip), %r8
	jmp	.LBB0_86
.LBB0_79:
	leaq	.L.str.25(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.24(%rip), %r8
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_83
.LBB0_80:
	leaq	.L.str.31(%rip), %rax
	leaq	.L.str.30(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.28(%rip), %rcx
	jmp	.LBB0_99
.LBB0_81:
	leaq	.L.str.27(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.22(%rip), %rdx
	leaq	.L.str.26(%rip), %rcx
	leaq	.L.str.12(%rip), %r8
	jmp	.LBB0_86
.LBB0_82:
	leaq	.L.str.25(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.23(%rip), %rcx
	leaq	.L.str.24(%rip), %r8
	leaq	.L.str.13(%rip), %r9
.LBB0_83:
	movl	$7, %esi
	pushq	$0
	jmp	.LBB0_94
.LBB0_84:
	leaq	.L.str.31(%rip), %rax
	leaq	.L.str.30(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.32(%rip), %rcx
	jmp	.LBB0_104
.LBB0_85:
	leaq	.L.str.27(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.23(%rip), %rdx
	leaq	.L.str.26(%rip), %rcx
	leaq	.L.str.13(%rip), %r8
.LBB0_86:
	leaq	.L.str.4(%rip), %r9
.LBB0_87:
	movl	$6, %esi
	pushq	%rax
	pushq	%r10
.LBB0_88:
	callq	__tvm_set_raised_6
	addq	$16, %rsp
	movl	$-1, %eax
	popq	%rbx
	retq
.LBB0_89:
	leaq	.L.str.35(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.33(%rip), %rdx
	leaq	.L.str.34(%rip), %rcx
	jmp	.LBB0_91
.LBB0_90:
	leaq	.L.str.35(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.33(%rip), %rdx
	leaq	.L.str.36(%rip), %rcx
.LBB0_91:
	leaq	.L.str.29(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_106
.LBB0_92:
	leaq	.L.str.9(%rip), %r9
	leaq	.L.str.10(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.33(%rip), %rdx
	leaq	.L.str.37(%rip), %rcx
	leaq	.L.str.29(%rip), %r8
.LBB0_93:
	movl	$8, %esi
	pushq	%r9
.LBB0_94:
	pushq	%rax
	jmp	.LBB0_95
.LBB0_96:
	leaq	.L.str.35(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.33(%rip), %rdx
	leaq	.L.str.38(%rip), %rcx
	jmp	.LBB0_99
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
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_106
.LBB0_101:
	leaq	.L.str.35(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.33(%rip), %rdx
	leaq	.L.str.41(%rip), %rcx
	jmp	.LBB0_104
.LBB0_102:
	leaq	.L.str.35(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.33(%rip), %rdx
	leaq	.L.str.42(%rip), %rcx
	jmp	.LBB0_104
.LBB0_103:
	leaq	.L.str.9(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.33(%rip), %rdx
	leaq	.L.str.43(%rip), %rcx
.LBB0_104:
	leaq	.L.str.29(%rip), %r8
.LBB0_105:
	leaq	.L.str.13(%rip), %r9
.LBB0_106:
	movl	$8, %esi
	pushq	%rax
	pushq	%r10
.LBB0_95:
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
	jmp	__tvm_ffi_dots@PLT
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
.Linfo_string26:
.Linfo_string27:
.Linfo_string28:
.LpubNames_start0:
.LpubNames_end0:
.LpubTypes_start0:
.LpubTypes_end0:
.Lline_table_start0:
