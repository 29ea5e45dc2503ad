	.type	__tvm_ffi_rows,@function
__tvm_ffi_rows:
	.loc	1 0 0
	pushq	%rbx
	subq	$32, %rsp
	cmpl	$3, %edx
	jne	.LBB0_69
	testq	%rsi, %rsi
	je	.LBB0_70
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
	ja	.LBB0_66
	movl	$145, %edx
	btl	%ecx, %edx
	jb	.LBB0_14
	jmp	.LBB0_66
.LBB0_7:
	cmpl	$7, %eax
	ja	.LBB0_65
	movl	$145, %ecx
	btl	%eax, %ecx
	jae	.LBB0_65
.LBB0_9:
	movq	8(%rsi), %rax
	movl	16(%rsi), %ecx
	cmpl	$63, %ecx
	jle	.LBB0_5
.LBB0_10:
	cmpl	$70, %ecx
	jne	.LBB0_14
	movq	24(%rsi), %rcx
	addq	$24, %rcx
	movl	32(%rsi), %edx
	cmpl	$63, %edx
	jg	.LBB0_15
.LBB0_12:
	cmpl	$7, %edx
	ja	.LBB0_67
	movl	$145, %edi
	btl	%edx, %edi
	jb	.LBB0_17
	jmp	.LBB0_67
.LBB0_14:
	movq	24(%rsi), %rcx
	movl	32(%rsi), %edx
	cmpl	$63, %edx
	jle	.LBB0_12
.LBB0_15:
	cmpl	$70, %edx
	jne	.LBB0_17
	movq	40(%rsi), %rdx
	addq	$24, %rdx
	jmp	.LBB0_18
.LBB0_17:
	movq	40(%rsi), %rdx
.LBB0_18:
	testq	%rax, %rax
	je	.LBB0_65
	cmpl	$3, 16(%rax)
	jne	.LBB0_71
	cmpw	$1, 22(%rax)
	jne	.LBB0_72
	cmpb	$32, 21(%rax)
	jne	.LBB0_72
	cmpb	$2, 20(%rax)
	jne	.LBB0_72
	cmpl	$1, 8(%rax)
	jne	.LBB0_73
	testq	%rcx, %rcx
	je	.LBB0_66
	cmpl	$4, 16(%rcx)
	jne	.LBB0_74
	cmpw	$1, 22(%rcx)
	jne	.LBB0_75
	cmpb	$32, 21(%rcx)
	jne	.LBB0_75
	cmpb	$2, 20(%rcx)
	jne	.LBB0_75
	cmpl	$1, 8(%rcx)
	jne	.LBB0_76
	testq	%rdx, %rdx
	je	.LBB0_67
	cmpl	$3, 16(%rdx)
	jne	.LBB0_77
	cmpw	$1, 22(%rdx)
	jne	.LBB0_78
	cmpb	$32, 21(%rdx)
	jne	.LBB0_78
	cmpb	$2, 20(%rdx)
	jne	.LBB0_78
	cmpl	$1, 8(%rdx)
	jne	.LBB0_79
	movq	24(%rax), %r9
	movq	32(%rax), %r8
	movl	12(%rax), %r11d
	movq	24(%rcx), %rdi
	movq	32(%rcx), %r10
	movq	24(%rdx), %rsi
	movq	32(%rdx), %rbx
	testq	%r8, %r8
	je	.LBB0_40
	cmpl	$900, (%r8)
	jne	.LBB0_81
	vpxor	%xmm0, %xmm0, %xmm0
	vpblendd	$5, 8(%r8), %xmm0, %xmm0
	vpcmpeqq	.LCPI0_0(%rip), %xmm0, %k0
	kmovd	%k0, %r8d
	testb	$1, %r8b
	je	.LBB0_81
	kshiftrb	$1, %k0, %k0
	kmovd	%k0, %r8d
	testb	$1, %r8b
	je	.LBB0_81
.LBB0_40:
	movq	(%rax), %r8
	testq	%r8, %r8
	je	.LBB0_80
	testq	%r10, %r10
	je	.LBB0_43
	vpxor	%xmm0, %xmm0, %xmm0
	vpblendd	$85, (%r10), %ymm0, %ymm0
	vpxor	.LCPI0_1(%rip), %ymm0, %ymm0
	vptest	%ymm0, %ymm0
	jne	.LBB0_82
.LBB0_43:
	cmpl	12(%rcx), %r11d
	jne	.LBB0_83
	movq	(%rcx), %r10
	testq	%r10, %r10
	je	.LBB0_84
	testq	%rbx, %rbx
	je	.LBB0_49
	cmpl	$784, (%rbx)
	jne	.LBB0_86
	vpxor	%xmm0, %xmm0, %xmm0
	vpblendd	$5, 8(%rbx), %xmm0, %xmm0
	vpcmpeqq	.LCPI0_2(%rip), %xmm0, %k0
	kmovd	%k0, %ebx
	testb	$1, %bl
	je	.LBB0_86
	kshiftrb	$1, %k0, %k0
	kmovd	%k0, %ebx
	testb	$1, %bl
	je	.LBB0_86
.LBB0_49:
	cmpl	12(%rdx), %r11d
	jne	.LBB0_85
	movq	(%rdx), %r11
	testq	%r11, %r11
	je	.LBB0_88
	cmpl	$32, (%r9)
	jne	.LBB0_92
	cmpl	$30, 8(%r9)
	jne	.LBB0_93
	cmpl	$30, 16(%r9)
	jne	.LBB0_94
	cmpq	$0, 40(%rax)
	jne	.LBB0_96
	cmpl	$32, (%rdi)
	jne	.LBB0_98
	cmpl	$32, 8(%rdi)
	jne	.LBB0_99
	cmpl	$3, 16(%rdi)
	jne	.LBB0_100
	cmpl	$3, 24(%rdi)
	jne	.LBB0_101
	cmpq	$0, 40(%rcx)
	jne	.LBB0_102
	cmpl	$32, (%rsi)
	jne	.LBB0_105
	cmpl	$28, 8(%rsi)
	jne	.LBB0_106
	cmpl	$28, 16(%rsi)
	jne	.LBB0_107
	cmpq	$0, 40(%rdx)
	jne	.LBB0_108
	movq	__TVMBackendParallelLaunch@GOTPCREL(%rip), %rax
	leaq	.L__tvm_parallel_lambda(%rip), %rdi
	leaq	8(%rsp), %rsi
	movq	%r11, 8(%rsp)
	movq	%r8, 16(%rsp)
	xorl	%edx, %edx
	movq	%r10, 24(%rsp)
	vzeroupper
	callq	*(%rax)
	addq	$32, %rsp
	popq	%rbx
	retq
.LBB0_65:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.9(%rip), %rcx
	jmp	.LBB0_68
.LBB0_66:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.12(%rip), %rcx
	jmp	.LBB0_68
.LBB0_67:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.13(%rip), %rcx
.LBB0_68:
	leaq	.L.str.4(%rip), %r8
	leaq	.L.str.5(%rip), %r9
	jmp	.LBB0_90
.LBB0_69:
	leaq	.L.str.6(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.1(%rip), %rdx
	leaq	.L.str.2(%rip), %rcx
	leaq	.L.str.3(%rip), %r8
	jmp	.LBB0_89
.LBB0_70:
	subq	$16, %rsp
	vpxor	%xmm0, %xmm0, %xmm0
	vmovdqu	%xmm0, (%rsp)
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.7(%rip), %rdx
	leaq	.L.str.4(%rip), %rcx
	leaq	.L.str.5(%rip), %r8
	leaq	.L.str.6(%rip), %r9
	movl	$4, %esi
	jmp	.LBB0_91
.LBB0_71:
	leaq	.L.str.2(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_111
.LBB0_72:
	leaq	.L.str.19(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_111
.LBB0_73:
	leaq	.L.str.21(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.20(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_111
.LBB0_74:
	leaq	.L.str.23(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	jmp	.LBB0_104
.LBB0_75:
	leaq	.L.str.19(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	jmp	.LBB0_104
.LBB0_76:
	leaq	.L.str.21(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.20(%rip), %r8
	jmp	.LBB0_104
.LBB0_77:
	leaq	.L.str.2(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.24(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	jmp	.LBB0_110
.LBB0_78:
	leaq	.L.str.19(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.24(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	jmp	.LBB0_110
.LBB0_79:
	leaq	.L.str.21(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.24(%rip), %rcx
	leaq	.L.str.20(%rip), %r8
	jmp	.LBB0_110
.LBB0_80:
	leaq	.L.str.28(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.27(%rip), %rcx
	leaq	.L.str.9(%rip), %r8
	jmp	.LBB0_89
.LBB0_81:
	leaq	.L.str.26(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.25(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_87
.LBB0_82:
	leaq	.L.str.26(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.25(%rip), %r8
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_87
.LBB0_83:
	leaq	.L.str.32(%rip), %rax
	leaq	.L.str.31(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.29(%rip), %rcx
	jmp	.LBB0_103
.LBB0_84:
	leaq	.L.str.28(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.22(%rip), %rdx
	leaq	.L.str.27(%rip), %rcx
	leaq	.L.str.12(%rip), %r8
	jmp	.LBB0_89
.LBB0_85:
	leaq	.L.str.32(%rip), %rax
	leaq	.L.str.31(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.33(%rip), %rcx
	jmp	.LBB0_109
.LBB0_86:
	leaq	.L.str.26(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.24(%rip), %rcx
	leaq	.L.str.25(%rip), %r8
	leaq	.L.str.13(%rip), %r9
.LBB0_87:
	movl	$7, %esi
	pushq	$0
	jmp	.LBB0_97
.LBB0_88:
	leaq	.L.str.28(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.24(%rip), %rdx
	leaq	.L.str.27(%rip), %rcx
	leaq	.L.str.13(%rip), %r8
.LBB0_89:
	leaq	.L.str.4(%rip), %r9
.LBB0_90:
	movl	$6, %esi
	pushq	%rax
	pushq	%r10
.LBB0_91:
	vzeroupper
	callq	__tvm_set_raised_6
	jmp	.LBB0_113
.LBB0_92:
	leaq	.L.str.36(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.35(%rip), %rcx
	jmp	.LBB0_95
.LBB0_93:
	leaq	.L.str.38(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.37(%rip), %rcx
	jmp	.LBB0_95
.LBB0_94:
	leaq	.L.str.38(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.39(%rip), %rcx
.LBB0_95:
	leaq	.L.str.30(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_111
.LBB0_96:
	leaq	.L.str.9(%rip), %r9
	leaq	.L.str.10(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.40(%rip), %rcx
	leaq	.L.str.30(%rip), %r8
	movl	$8, %esi
	pushq	%r9
.LBB0_97:
	pushq	%rax
	jmp	.LBB0_112
.LBB0_98:
	leaq	.L.str.36(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.41(%rip), %rcx
	jmp	.LBB0_103
.LBB0_99:
	leaq	.L.str.36(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.42(%rip), %rcx
	jmp	.LBB0_103
.LBB0_100:
	leaq	.L.str.2(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.43(%rip), %rcx
	jmp	.LBB0_103
.LBB0_101:
	leaq	.L.str.2(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.44(%rip), %rcx
	jmp	.LBB0_103
.LBB0_102:
	leaq	.L.str.9(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.45(%rip), %rcx
.LBB0_103:
	leaq	.L.str.30(%rip), %r8
.LBB0_104:
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_111
.LBB0_105:
	leaq	.L.str.36(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.46(%rip), %rcx
	jmp	.LBB0_109
.LBB0_106:
	leaq	.L.str.48(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.47(%rip), %rcx
	jmp	.LBB0_109
.LBB0_107:
	leaq	.L.str.48(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.49(%rip), %rcx
	jmp	.LBB0_109
.LBB0_108:
	leaq	.L.str.9(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.50(%rip), %rcx
.LBB0_109:
	leaq	.L.str.30(%rip), %r8
.LBB0_110:
	leaq	.L.str.13(%rip), %r9
.LBB0_111:
	movl	$8, %esi
	pushq	%rax
	pushq	%r10
.LBB0_112:
	vzeroupper
	callq	__tvm_set_raised_12
.LBB0_113:
	addq	$16, %rsp
	movl	$-1, %eax
	addq	$32, %rsp
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
	.type	.L__tvm_parallel_lambda,@function
.L__tvm_parallel_lambda:
	pushq	%rbp
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	subq	$152, %rsp
	movl	8(%rsi), %esi
	movq	%rdx, %rcx
	leal	31(%rsi), %eax
	cltd
	idivl	%esi
	leal	1(%rdi), %edx
	movl	$32, %esi
	imull	%eax, %edx
	cmpl	$32, %edx
	cmovll	%edx, %esi
	imull	%edi, %eax
	subl	%eax, %esi
	movl	%esi, 20(%rsp)
	jle	.LBB3_13
	movq	16(%rcx), %rsi
	movq	(%rcx), %r14
	movslq	%eax, %rbp
	movq	8(%rcx), %r15
	imulq	$3136, %rbp, %rdx
	leaq	(%rbp,%rbp,8), %rcx
	shlq	$7, %rcx
	leaq	(%rsi,%rcx), %r8
	leaq	3136(%r14,%rdx), %rdi
	leaq	12(%rsi,%rcx), %rcx
	leaq	108(%r14,%rdx), %r12
	leaq	(%r14,%rdx), %r9
	xorl	%edx, %edx
	movq	%rsi, 104(%rsp)
	movq	%r9, 80(%rsp)
	movq	%r8, 72(%rsp)
	movq	%rdi, 88(%rsp)
	movq	%rcx, 64(%rsp)
.LBB3_2:
	movq	80(%rsp), %rcx
	imulq	$3136, %rdx, %rbx
	movq	%rax, 112(%rsp)
	addl	%edx, %eax
	movq	%rdx, 56(%rsp)
	xorl	%esi, %esi
	imull	$784, %eax, %eax
	cltq
	leaq	(%rcx,%rbx), %r13
	addq	88(%rsp), %rbx
	movq	%rdx, %rcx
	shlq	$7, %rcx
	leaq	(%r14,%rax,4), %rdi
	movl	$3136, %edx
	leaq	(%rcx,%rcx,8), %rcx
	movq	%rcx, 8(%rsp)
	vzeroupper
	callq	memset@PLT
	leaq	(%rbp,%rbp,8), %rcx
	movq	72(%rsp), %rsi
	movq	8(%rsp), %rdx
	vpbroadcastq	.LCPI3_3(%rip), %zmm12
	vpbroadcastq	.LCPI3_2(%rip), %zmm11
	vpbroadcastq	.LCPI3_1(%rip), %zmm10
	vmovdqa64	.LCPI3_0(%rip), %zmm9
	imulq	$784, %rbp, %rax
	movq	%rbp, 96(%rsp)
	shlq	$7, %rcx
	addq	104(%rsp), %rcx
	vpbroadcastq	%rax, %zmm0
	leaq	56(%r15), %rax
	movq	%rax, 24(%rsp)
	movq	%rcx, 48(%rsp)
	leaq	(%rsi,%rdx), %rcx
	addq	64(%rsp), %rdx
	movq	%rcx, 40(%rsp)
	movq	%rdx, 8(%rsp)
	xorl	%edx, %edx
.LBB3_3:
	imulq	$3600, %rdx, %rax
	leaq	(,%rdx,4), %rcx
	movq	%rdx, 32(%rsp)
	imulq	$900, %rdx, %r8
	movq	48(%rsp), %rdi
	leaq	(%rcx,%rcx,8), %rsi
	leaq	(%r15,%rax), %rdx
	leaq	3360(%r15,%rax), %rax
	movq	%rdx, 136(%rsp)
	movq	%rax, 128(%rsp)
	movq	40(%rsp), %rax
	leaq	(%rdi,%rsi), %rcx
	movq	%rcx, 144(%rsp)
	addq	%rsi, %rax
	addq	8(%rsp), %rsi
	movq	%rax, 120(%rsp)
	xorl	%eax, %eax
	movq	%rsi, %rcx
	jmp	.LBB3_4
.LBB3_10:
	incq	%rax
	cmpq	$3, %rax
	je	.LBB3_11
.LBB3_4:
	movq	136(%rsp), %rsi
	imulq	$120, %rax, %rdx
	leaq	(,%rax,4), %rdi
	vpbroadcastq	%rax, %zmm1
	leaq	(%rdi,%rdi,2), %rbp
	movq	120(%rsp), %rdi
	leaq	(%rcx,%rbp), %r9
	addq	%rdx, %rsi
	addq	128(%rsp), %rdx
	addq	%rbp, %rdi
	addq	144(%rsp), %rbp
	cmpq	%rdx, %r13
	setb	%dl
	cmpq	%rbx, %rsi
	setb	%r10b
	andb	%dl, %r10b
	cmpq	%r9, %r13
	setb	%dl
	cmpq	%rbx, %rdi
	setb	%sil
	xorl	%edi, %edi
	andb	%dl, %sil
	movq	24(%rsp), %rdx
	orb	%r10b, %sil
.LBB3_5:
	testb	%sil, %sil
	jne	.LBB3_6
	vbroadcastss	(%rbp,%rdi,4), %ymm2
	leaq	(%rdi,%r8), %r9
	movl	$24, %r10d
	vmovdqa64	%zmm9, %zmm4
	vpbroadcastq	%r9, %zmm3
	movl	$24, %r9d
.LBB3_15:
	vpaddq	%zmm1, %zmm4, %zmm6
	vpmullq	%zmm10, %zmm4, %zmm5
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm7, %xmm7, %xmm7
	vxorps	%xmm8, %xmm8, %xmm8
	kxnorb	%k0, %k0, %k2
	vpaddq	%zmm12, %zmm4, %zmm4
	addq	$-8, %r10
	vpmullq	%zmm11, %zmm6, %zmm6
	vpaddq	%zmm0, %zmm5, %zmm5
	vpaddq	%zmm6, %zmm3, %zmm6
	vgatherqps	(%r15,%zmm6,4), %ymm7 {%k1}
	kxnorb	%k0, %k0, %k1
	vgatherqps	(%r14,%zmm5,4), %ymm8 {%k1}
	kxnorb	%k0, %k0, %k1
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, (%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	4(%r15,%zmm6,4), %ymm7 {%k1}
	vgatherqps	4(%r14,%zmm5,4), %ymm8 {%k2}
	kxnorb	%k0, %k0, %k1
	kxnorb	%k0, %k0, %k2
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 4(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	8(%r15,%zmm6,4), %ymm7 {%k1}
	kxnorb	%k0, %k0, %k1
	vgatherqps	8(%r14,%zmm5,4), %ymm8 {%k1}
	kxnorb	%k0, %k0, %k1
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 8(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	12(%r15,%zmm6,4), %ymm7 {%k1}
	vgatherqps	12(%r14,%zmm5,4), %ymm8 {%k2}
	kxnorb	%k0, %k0, %k1
	kxnorb	%k0, %k0, %k2
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 12(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	16(%r15,%zmm6,4), %ymm7 {%k1}
	kxnorb	%k0, %k0, %k1
	vgatherqps	16(%r14,%zmm5,4), %ymm8 {%k1}
	kxnorb	%k0, %k0, %k1
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 16(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	20(%r15,%zmm6,4), %ymm7 {%k1}
	vgatherqps	20(%r14,%zmm5,4), %ymm8 {%k2}
	kxnorb	%k0, %k0, %k1
	kxnorb	%k0, %k0, %k2
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 20(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	24(%r15,%zmm6,4), %ymm7 {%k1}
	kxnorb	%k0, %k0, %k1
	vgatherqps	24(%r14,%zmm5,4), %ymm8 {%k1}
	kxnorb	%k0, %k0, %k1
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 24(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	28(%r15,%zmm6,4), %ymm7 {%k1}
	vgatherqps	28(%r14,%zmm5,4), %ymm8 {%k2}
	kxnorb	%k0, %k0, %k1
	kxnorb	%k0, %k0, %k2
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 28(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	32(%r15,%zmm6,4), %ymm7 {%k1}
	kxnorb	%k0, %k0, %k1
	vgatherqps	32(%r14,%zmm5,4), %ymm8 {%k1}
	kxnorb	%k0, %k0, %k1
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 32(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	36(%r15,%zmm6,4), %ymm7 {%k1}
	vgatherqps	36(%r14,%zmm5,4), %ymm8 {%k2}
	kxnorb	%k0, %k0, %k1
	kxnorb	%k0, %k0, %k2
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 36(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	40(%r15,%zmm6,4), %ymm7 {%k1}
	kxnorb	%k0, %k0, %k1
	vgatherqps	40(%r14,%zmm5,4), %ymm8 {%k1}
	kxnorb	%k0, %k0, %k1
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 40(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	44(%r15,%zmm6,4), %ymm7 {%k1}
	vgatherqps	44(%r14,%zmm5,4), %ymm8 {%k2}
	kxnorb	%k0, %k0, %k1
	kxnorb	%k0, %k0, %k2
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 44(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	48(%r15,%zmm6,4), %ymm7 {%k1}
	kxnorb	%k0, %k0, %k1
	vgatherqps	48(%r14,%zmm5,4), %ymm8 {%k1}
	kxnorb	%k0, %k0, %k1
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 48(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	52(%r15,%zmm6,4), %ymm7 {%k1}
	vgatherqps	52(%r14,%zmm5,4), %ymm8 {%k2}
	kxnorb	%k0, %k0, %k1
	kxnorb	%k0, %k0, %k2
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 52(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	56(%r15,%zmm6,4), %ymm7 {%k1}
	kxnorb	%k0, %k0, %k1
	vgatherqps	56(%r14,%zmm5,4), %ymm8 {%k1}
	kxnorb	%k0, %k0, %k1
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 56(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	60(%r15,%zmm6,4), %ymm7 {%k1}
	vgatherqps	60(%r14,%zmm5,4), %ymm8 {%k2}
	kxnorb	%k0, %k0, %k1
	kxnorb	%k0, %k0, %k2
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 60(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	64(%r15,%zmm6,4), %ymm7 {%k1}
	kxnorb	%k0, %k0, %k1
	vgatherqps	64(%r14,%zmm5,4), %ymm8 {%k1}
	kxnorb	%k0, %k0, %k1
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 64(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	68(%r15,%zmm6,4), %ymm7 {%k1}
	vgatherqps	68(%r14,%zmm5,4), %ymm8 {%k2}
	kxnorb	%k0, %k0, %k1
	kxnorb	%k0, %k0, %k2
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 68(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	72(%r15,%zmm6,4), %ymm7 {%k1}
	kxnorb	%k0, %k0, %k1
	vgatherqps	72(%r14,%zmm5,4), %ymm8 {%k1}
	kxnorb	%k0, %k0, %k1
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 72(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	76(%r15,%zmm6,4), %ymm7 {%k1}
	vgatherqps	76(%r14,%zmm5,4), %ymm8 {%k2}
	kxnorb	%k0, %k0, %k1
	kxnorb	%k0, %k0, %k2
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 76(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	80(%r15,%zmm6,4), %ymm7 {%k1}
	kxnorb	%k0, %k0, %k1
	vgatherqps	80(%r14,%zmm5,4), %ymm8 {%k1}
	kxnorb	%k0, %k0, %k1
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 80(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	84(%r15,%zmm6,4), %ymm7 {%k1}
	vgatherqps	84(%r14,%zmm5,4), %ymm8 {%k2}
	kxnorb	%k0, %k0, %k1
	kxnorb	%k0, %k0, %k2
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 84(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	88(%r15,%zmm6,4), %ymm7 {%k1}
	kxnorb	%k0, %k0, %k1
	vgatherqps	88(%r14,%zmm5,4), %ymm8 {%k1}
	kxnorb	%k0, %k0, %k1
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 88(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	92(%r15,%zmm6,4), %ymm7 {%k1}
	vgatherqps	92(%r14,%zmm5,4), %ymm8 {%k2}
	kxnorb	%k0, %k0, %k1
	kxnorb	%k0, %k0, %k2
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 92(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	96(%r15,%zmm6,4), %ymm7 {%k1}
	kxnorb	%k0, %k0, %k1
	vgatherqps	96(%r14,%zmm5,4), %ymm8 {%k1}
	kxnorb	%k0, %k0, %k1
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 96(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	100(%r15,%zmm6,4), %ymm7 {%k1}
	vgatherqps	100(%r14,%zmm5,4), %ymm8 {%k2}
	kxnorb	%k0, %k0, %k1
	kxnorb	%k0, %k0, %k2
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 100(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	104(%r15,%zmm6,4), %ymm7 {%k1}
	kxnorb	%k0, %k0, %k1
	vgatherqps	104(%r14,%zmm5,4), %ymm8 {%k1}
	kxnorb	%k0, %k0, %k1
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vxorps	%xmm7, %xmm7, %xmm7
	vscatterqps	%ymm8, 104(%r14,%zmm5,4) {%k1}
	kxnorb	%k0, %k0, %k1
	vxorps	%xmm8, %xmm8, %xmm8
	vgatherqps	108(%r15,%zmm6,4), %ymm7 {%k1}
	vgatherqps	108(%r14,%zmm5,4), %ymm8 {%k2}
	kxnorb	%k0, %k0, %k1
	vfmadd231ps	%ymm7, %ymm2, %ymm8
	vscatterqps	%ymm8, 108(%r14,%zmm5,4) {%k1}
	jne	.LBB3_15
.LBB3_7:
	imulq	$112, %r9, %r11
	leaq	-28(%r9), %r10
	addq	%rax, %r9
	imulq	$120, %r9, %r9
	addq	%r12, %r11
	addq	%rdx, %r9
.LBB3_8:
	vmovss	-56(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-108(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -108(%r11)
	vmovss	-52(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-104(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -104(%r11)
	vmovss	-48(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-100(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -100(%r11)
	vmovss	-44(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-96(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -96(%r11)
	vmovss	-40(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-92(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -92(%r11)
	vmovss	-36(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-88(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -88(%r11)
	vmovss	-32(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-84(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -84(%r11)
	vmovss	-28(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-80(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -80(%r11)
	vmovss	-24(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-76(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -76(%r11)
	vmovss	-20(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-72(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -72(%r11)
	vmovss	-16(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-68(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -68(%r11)
	vmovss	-12(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-64(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -64(%r11)
	vmovss	-8(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-60(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -60(%r11)
	vmovss	-4(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-56(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -56(%r11)
	vmovss	(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-52(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -52(%r11)
	vmovss	4(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-48(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -48(%r11)
	vmovss	8(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-44(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -44(%r11)
	vmovss	12(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-40(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -40(%r11)
	vmovss	16(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-36(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -36(%r11)
	vmovss	20(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-32(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -32(%r11)
	vmovss	24(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-28(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -28(%r11)
	vmovss	28(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-24(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -24(%r11)
	vmovss	32(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-20(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -20(%r11)
	vmovss	36(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-16(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -16(%r11)
	vmovss	40(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-12(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -12(%r11)
	vmovss	44(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-8(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -8(%r11)
	vmovss	48(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	vfmadd213ss	-4(%r11), %xmm2, %xmm3
	vmovss	%xmm3, -4(%r11)
	vmovss	52(%r9), %xmm2
	vmovss	(%rbp,%rdi,4), %xmm3
	addq	$120, %r9
	vfmadd213ss	(%r11), %xmm2, %xmm3
	vmovss	%xmm3, (%r11)
	addq	$112, %r11
	incq	%r10
	jne	.LBB3_8
	incq	%rdi
	addq	$4, %rdx
	cmpq	$3, %rdi
	jne	.LBB3_5
	jmp	.LBB3_10
.LBB3_6:
	xorl	%r9d, %r9d
	jmp	.LBB3_7
.LBB3_11:
	movq	32(%rsp), %rdx
	addq	$3600, 24(%rsp)
	incq	%rdx
	cmpq	$32, %rdx
	jne	.LBB3_3
	movq	96(%rsp), %rbp
	movq	56(%rsp), %rdx
	movq	112(%rsp), %rax
	addq	$3136, %r12
	incq	%rbp
	incq	%rdx
	cmpl	20(%rsp), %edx
	jne	.LBB3_2
.LBB3_13:
	xorl	%eax, %eax
	addq	$152, %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	vzeroupper
	retq
	.type	__tvm_ffi_main,@function
__tvm_ffi_main:
	jmp	__tvm_ffi_rows@PLT
	.type	__truncsfhf2,@function
__truncsfhf2:
	vmovd	%xmm0, %eax
	movl	%eax, %edx
	andl	$2147483647, %edx
	leal	-947912704(%rdx), %ecx
	leal	-1199570944(%rdx), %esi
	cmpl	%esi, %ecx
	jae	.LBB5_5
	movl	%eax, %edx
	movl	%eax, %esi
	shrl	$13, %edx
	andl	$8191, %esi
	cmpl	$4097, %esi
	jb	.LBB5_3
	addl	$-114687, %edx
	movl	%edx, %ecx
	jmp	.LBB5_13
.LBB5_5:
	cmpl	$2139095041, %edx
	jb	.LBB5_7
	movl	$2317, %ecx
	bextrl	%ecx, %eax, %ecx
	orl	$32256, %ecx
	jmp	.LBB5_13
.LBB5_3:
	leal	-114688(%rdx), %ecx
	cmpl	$4096, %esi
	jne	.LBB5_13
	andl	$1, %edx
	addl	%edx, %ecx
	jmp	.LBB5_13
.LBB5_7:
	movl	$31744, %ecx
	cmpl	$1199570943, %edx
	ja	.LBB5_13
	xorl	%ecx, %ecx
	cmpl	$754974720, %edx
	jb	.LBB5_13
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
	jb	.LBB5_11
	incl	%ecx
	jmp	.LBB5_13
.LBB5_11:
	cmpl	$4096, %edx
	jne	.LBB5_13
	movl	%ecx, %edx
	andl	$1, %edx
	addl	%edx, %ecx
.LBB5_13:
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
	ja	.LBB6_2
	shll	$13, %ecx
	addl	$939524096, %ecx
	jmp	.LBB6_7
.LBB6_2:
	cmpw	$31744, %cx
	jb	.LBB6_4
	shll	$13, %ecx
	orl	$2139095040, %ecx
	jmp	.LBB6_7
.LBB6_4:
	testl	%ecx, %ecx
	je	.LBB6_5
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
	jmp	.LBB6_7
.LBB6_5:
	xorl	%ecx, %ecx
.LBB6_7:
	andl	$32768, %eax
	shll	$16, %eax
	orl	%ecx, %eax
	vmovd	%eax, %xmm0
	retq
__TVMBackendParallelLaunch:
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
.LpubNames_start0:
.LpubNames_end0:
.LpubTypes_start0:
.LpubTypes_end0:
.Lline_table_start0:
