	.type	__tvm_ffi_embedding,@function
__tvm_ffi_embedding:
	.loc	1 0 0
	pushq	%rbx
	cmpl	$3, %edx
	jne	.LBB0_60
	testq	%rsi, %rsi
	je	.LBB0_61
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
	ja	.LBB0_62
	movl	$145, %ecx
	btl	%eax, %ecx
	jae	.LBB0_62
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
	ja	.LBB0_70
	movl	$145, %edi
	btl	%edx, %edi
	jb	.LBB0_17
	jmp	.LBB0_70
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
	je	.LBB0_62
	cmpl	$1, 16(%rax)
	jne	.LBB0_63
	cmpw	$1, 22(%rax)
	jne	.LBB0_64
	cmpb	$32, 21(%rax)
	jne	.LBB0_64
	cmpb	$0, 20(%rax)
	jne	.LBB0_64
	cmpl	$1, 8(%rax)
	jne	.LBB0_65
	testq	%rcx, %rcx
	je	.LBB0_66
	cmpl	$2, 16(%rcx)
	jne	.LBB0_67
	cmpw	$1, 22(%rcx)
	jne	.LBB0_68
	cmpb	$32, 21(%rcx)
	jne	.LBB0_68
	cmpb	$2, 20(%rcx)
	jne	.LBB0_68
	cmpl	$1, 8(%rcx)
	jne	.LBB0_69
	testq	%rdx, %rdx
	je	.LBB0_70
	cmpl	$2, 16(%rdx)
	jne	.LBB0_72
	cmpw	$1, 22(%rdx)
	jne	.LBB0_73
	cmpb	$32, 21(%rdx)
	jne	.LBB0_73
	cmpb	$2, 20(%rdx)
	jne	.LBB0_73
	cmpl	$1, 8(%rdx)
	jne	.LBB0_74
	movq	24(%rax), %r11
	movq	32(%rax), %rsi
	movl	12(%rax), %r8d
	movq	24(%rcx), %r10
	movq	32(%rcx), %rdi
	movq	24(%rdx), %r9
	movq	32(%rdx), %rbx
	testq	%rsi, %rsi
	je	.LBB0_38
	cmpl	$1, (%rsi)
	jne	.LBB0_75
.LBB0_38:
	movq	(%rax), %rsi
	testq	%rsi, %rsi
	je	.LBB0_76
	testq	%rdi, %rdi
	je	.LBB0_41
	vpxor	%xmm0, %xmm0, %xmm0
	vpblendd	$5, (%rdi), %xmm0, %xmm0
	vpxor	.LCPI0_0(%rip), %xmm0, %xmm0
	vptest	%xmm0, %xmm0
	jne	.LBB0_77
.LBB0_41:
	cmpl	12(%rcx), %r8d
	jne	.LBB0_78
	movq	(%rcx), %rdi
	testq	%rdi, %rdi
	je	.LBB0_79
	testq	%rbx, %rbx
	je	.LBB0_45
	vpxor	%xmm0, %xmm0, %xmm0
	vpblendd	$5, (%rbx), %xmm0, %xmm0
	vpxor	.LCPI0_0(%rip), %xmm0, %xmm0
	vptest	%xmm0, %xmm0
	jne	.LBB0_80
.LBB0_45:
	cmpl	12(%rdx), %r8d
	jne	.LBB0_82
	movq	(%rdx), %r8
	testq	%r8, %r8
	je	.LBB0_83
	cmpl	$512, (%r11)
	jne	.LBB0_87
	cmpq	$0, 40(%rax)
	jne	.LBB0_89
	cmpl	$10000, (%r10)
	jne	.LBB0_93
	cmpl	$256, 8(%r10)
	jne	.LBB0_94
	cmpq	$0, 40(%rcx)
	jne	.LBB0_95
	cmpl	$512, (%r9)
	jne	.LBB0_97
	cmpl	$256, 8(%r9)
	jne	.LBB0_98
	cmpq	$0, 40(%rdx)
	jne	.LBB0_99
	xorl	%eax, %eax
.LBB0_56:
	movl	$7, %ecx
.LBB0_57:
	.loc	1 225 13
	movslq	(%rsi,%rax,4), %rdx
	shlq	$8, %rdx
	addq	%rcx, %rdx
	vmovss	-28(%rdi,%rdx,4), %xmm0
	vmovss	%xmm0, -28(%r8,%rcx,4)
	movslq	(%rsi,%rax,4), %rdx
	shlq	$8, %rdx
	addq	%rcx, %rdx
	vmovss	-24(%rdi,%rdx,4), %xmm0
	vmovss	%xmm0, -24(%r8,%rcx,4)
	movslq	(%rsi,%rax,4), %rdx
	shlq	$8, %rdx
	addq	%rcx, %rdx
	vmovss	-20(%rdi,%rdx,4), %xmm0
	vmovss	%xmm0, -20(%r8,%rcx,4)
	movslq	(%rsi,%rax,4), %rdx
	shlq	$8, %rdx
	addq	%rcx, %rdx
	vmovss	-16(%rdi,%rdx,4), %xmm0
	vmovss	%xmm0, -16(%r8,%rcx,4)
	movslq	(%rsi,%rax,4), %rdx
	shlq	$8, %rdx
	addq	%rcx, %rdx
	vmovss	-12(%rdi,%rdx,4), %xmm0
	vmovss	%xmm0, -12(%r8,%rcx,4)
	movslq	(%rsi,%rax,4), %rdx
	shlq	$8, %rdx
	addq	%rcx, %rdx
	vmovss	-8(%rdi,%rdx,4), %xmm0
	vmovss	%xmm0, -8(%r8,%rcx,4)
	movslq	(%rsi,%rax,4), %rdx
	shlq	$8, %rdx
	addq	%rcx, %rdx
	vmovss	-4(%rdi,%rdx,4), %xmm0
	vmovss	%xmm0, -4(%r8,%rcx,4)
	movslq	(%rsi,%rax,4), %rdx
	shlq	$8, %rdx
	addq	%rcx, %rdx
	vmovd	(%rdi,%rdx,4), %xmm0
	vmovd	%xmm0, (%r8,%rcx,4)
	.loc	1 0 0 is_stmt 0
	addq	$8, %rcx
	cmpq	$263, %rcx
	jne	.LBB0_57
	.loc	1 225 13
	incq	%rax
	.loc	1 0 0
	addq	$1024, %r8
	cmpq	$512, %rax
	jne	.LBB0_56
	xorl	%eax, %eax
	popq	%rbx
	retq
.LBB0_60:
	leaq	.L.str.6(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.1(%rip), %rdx
	leaq	.L.str.2(%rip), %rcx
	leaq	.L.str.3(%rip), %r8
	jmp	.LBB0_84
.LBB0_61:
	subq	$16, %rsp
	vpxor	%xmm0, %xmm0, %xmm0
	vmovdqu	%xmm0, (%rsp)
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.7(%rip), %rdx
	leaq	.L.str.4(%rip), %rcx
	leaq	.L.str.5(%rip), %r8
	leaq	.L.str.6(%rip), %r9
	movl	$4, %esi
	jmp	.LBB0_86
.LBB0_62:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.9(%rip), %rcx
	jmp	.LBB0_71
.LBB0_63:
	leaq	.L.str.12(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	jmp	.LBB0_88
.LBB0_64:
	leaq	.L.str.19(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	jmp	.LBB0_88
.LBB0_65:
	leaq	.L.str.21(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.20(%rip), %r8
	jmp	.LBB0_88
.LBB0_66:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.12(%rip), %rcx
	jmp	.LBB0_71
.LBB0_67:
	leaq	.L.str.13(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_102
.LBB0_68:
	leaq	.L.str.23(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_102
.LBB0_69:
	leaq	.L.str.21(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.20(%rip), %r8
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_102
.LBB0_70:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.13(%rip), %rcx
.LBB0_71:
	leaq	.L.str.4(%rip), %r8
	leaq	.L.str.5(%rip), %r9
	jmp	.LBB0_85
.LBB0_72:
	leaq	.L.str.13(%rip), %r9
	leaq	.L.str.10(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.24(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	jmp	.LBB0_90
.LBB0_73:
	leaq	.L.str.23(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.24(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	jmp	.LBB0_101
.LBB0_74:
	leaq	.L.str.21(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.24(%rip), %rcx
	leaq	.L.str.20(%rip), %r8
	jmp	.LBB0_101
.LBB0_75:
	leaq	.L.str.26(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.25(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_81
.LBB0_76:
	leaq	.L.str.28(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.27(%rip), %rcx
	leaq	.L.str.9(%rip), %r8
	jmp	.LBB0_84
.LBB0_77:
	leaq	.L.str.26(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.25(%rip), %r8
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_81
.LBB0_78:
	leaq	.L.str.32(%rip), %rax
	leaq	.L.str.31(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.29(%rip), %rcx
	jmp	.LBB0_96
.LBB0_79:
	leaq	.L.str.28(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.22(%rip), %rdx
	leaq	.L.str.27(%rip), %rcx
	leaq	.L.str.12(%rip), %r8
	jmp	.LBB0_84
.LBB0_80:
	leaq	.L.str.26(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.24(%rip), %rcx
	leaq	.L.str.25(%rip), %r8
	leaq	.L.str.13(%rip), %r9
.LBB0_81:
	movl	$7, %esi
	pushq	$0
	jmp	.LBB0_91
.LBB0_82:
	leaq	.L.str.32(%rip), %rax
	leaq	.L.str.31(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.33(%rip), %rcx
	jmp	.LBB0_100
.LBB0_83:
	leaq	.L.str.28(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.24(%rip), %rdx
	leaq	.L.str.27(%rip), %rcx
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
.LBB0_87:
	leaq	.L.str.36(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.35(%rip), %rcx
	leaq	.L.str.30(%rip), %r8
.LBB0_88:
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_102
.LBB0_89:
	leaq	.L.str.9(%rip), %r9
	leaq	.L.str.10(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.37(%rip), %rcx
	leaq	.L.str.30(%rip), %r8
.LBB0_90:
	movl	$8, %esi
	pushq	%r9
.LBB0_91:
	pushq	%rax
	jmp	.LBB0_92
.LBB0_93:
	leaq	.L.str.39(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.38(%rip), %rcx
	jmp	.LBB0_96
.LBB0_94:
	leaq	.L.str.41(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.40(%rip), %rcx
	jmp	.LBB0_96
.LBB0_95:
	leaq	.L.str.9(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.42(%rip), %rcx
.LBB0_96:
	leaq	.L.str.30(%rip), %r8
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_102
.LBB0_97:
	leaq	.L.str.36(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.43(%rip), %rcx
	jmp	.LBB0_100
.LBB0_98:
	leaq	.L.str.41(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.44(%rip), %rcx
	jmp	.LBB0_100
.LBB0_99:
	leaq	.L.str.9(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.45(%rip), %rcx
.LBB0_100:
	leaq	.L.str.30(%rip), %r8
.LBB0_101:
	leaq	.L.str.13(%rip), %r9
.LBB0_102:
	movl	$8, %esi
	pushq	%rax
	pushq	%r10
.LBB0_92:
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
	jmp	__tvm_ffi_embedding@PLT
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
.LpubNames_start0:
.LpubNames_end0:
.LpubTypes_start0:
.LpubTypes_end0:
.Lline_table_start0:
