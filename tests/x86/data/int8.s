	.type	__tvm_ffi_transposed,@function
__tvm_ffi_transposed:
	.loc	1 0 0
	pushq	%rbp
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	pushq	%rax
	cmpl	$3, %edx
	jne	.LBB0_66
	testq	%rsi, %rsi
	je	.LBB0_67
	movl	(%rsi), %eax
	cmpl	$63, %eax
	jle	.LBB0_7
	cmpl	$70, %eax
	jne	.LBB0_9
	movq	8(%rsi), %rdi
	addq	$24, %rdi
	movl	16(%rsi), %eax
	cmpl	$63, %eax
	jg	.LBB0_10
.LBB0_5:
	cmpl	$7, %eax
	ja	.LBB0_72
	movl	$145, %ecx
	btl	%eax, %ecx
	jb	.LBB0_14
	jmp	.LBB0_72
.LBB0_7:
	cmpl	$7, %eax
	ja	.LBB0_68
	movl	$145, %ecx
	btl	%eax, %ecx
	jae	.LBB0_68
.LBB0_9:
	movq	8(%rsi), %rdi
	movl	16(%rsi), %eax
	cmpl	$63, %eax
	jle	.LBB0_5
.LBB0_10:
	cmpl	$70, %eax
	jne	.LBB0_14
	movq	24(%rsi), %r8
	addq	$24, %r8
	movl	32(%rsi), %eax
	cmpl	$63, %eax
	jg	.LBB0_15
.LBB0_12:
	cmpl	$7, %eax
	ja	.LBB0_76
	movl	$145, %ecx
	btl	%eax, %ecx
	jb	.LBB0_17
	jmp	.LBB0_76
.LBB0_14:
	movq	24(%rsi), %r8
	movl	32(%rsi), %eax
	cmpl	$63, %eax
	jle	.LBB0_12
.LBB0_15:
	cmpl	$70, %eax
	jne	.LBB0_17
	movq	40(%rsi), %rsi
	addq	$24, %rsi
	jmp	.LBB0_18
.LBB0_17:
	movq	40(%rsi), %rsi
.LBB0_18:
	testq	%rdi, %rdi
	je	.LBB0_68
	cmpl	$2, 16(%rdi)
	jne	.LBB0_69
	cmpw	$1, 22(%rdi)
	jne	.LBB0_70
	cmpb	$8, 21(%rdi)
	jne	.LBB0_70
	cmpb	$0, 20(%rdi)
	jne	.LBB0_70
	cmpl	$1, 8(%rdi)
	jne	.LBB0_71
	testq	%r8, %r8
	je	.LBB0_72
	cmpl	$2, 16(%r8)
	jne	.LBB0_73
	cmpw	$1, 22(%r8)
	jne	.LBB0_74
	cmpb	$8, 21(%r8)
	jne	.LBB0_74
	cmpb	$0, 20(%r8)
	jne	.LBB0_74
	cmpl	$1, 8(%r8)
	jne	.LBB0_75
	testq	%rsi, %rsi
	je	.LBB0_76
	cmpl	$2, 16(%rsi)
	jne	.LBB0_78
	cmpw	$1, 22(%rsi)
	jne	.LBB0_79
	cmpb	$32, 21(%rsi)
	jne	.LBB0_79
	cmpb	$0, 20(%rsi)
	jne	.LBB0_79
	cmpl	$1, 8(%rsi)
	jne	.LBB0_80
	movq	24(%rdi), %r11
	movq	32(%rdi), %rax
	movl	12(%rdi), %edx
	movq	24(%r8), %r10
	movq	32(%r8), %rcx
	movq	24(%rsi), %r9
	movq	32(%rsi), %rbx
	testq	%rax, %rax
	je	.LBB0_38
	vpxor	%xmm0, %xmm0, %xmm0
	vpblendd	$5, (%rax), %xmm0, %xmm0
	vpxor	.LCPI0_0(%rip), %xmm0, %xmm0
	vptest	%xmm0, %xmm0
	jne	.LBB0_81
.LBB0_38:
	movq	(%rdi), %rax
	testq	%rax, %rax
	je	.LBB0_82
	testq	%rcx, %rcx
	je	.LBB0_41
	vpxor	%xmm0, %xmm0, %xmm0
	vpblendd	$5, (%rcx), %xmm0, %xmm0
	vpxor	.LCPI0_0(%rip), %xmm0, %xmm0
	vptest	%xmm0, %xmm0
	jne	.LBB0_83
.LBB0_41:
	cmpl	12(%r8), %edx
	jne	.LBB0_84
	movq	(%r8), %rcx
	testq	%rcx, %rcx
	je	.LBB0_85
	testq	%rbx, %rbx
	je	.LBB0_45
	vpxor	%xmm0, %xmm0, %xmm0
	vpblendd	$5, (%rbx), %xmm0, %xmm0
	vpxor	.LCPI0_1(%rip), %xmm0, %xmm0
	vptest	%xmm0, %xmm0
	jne	.LBB0_86
.LBB0_45:
	cmpl	12(%rsi), %edx
	jne	.LBB0_88
	movq	(%rsi), %rdx
	testq	%rdx, %rdx
	je	.LBB0_89
	cmpl	$128, (%r11)
	jne	.LBB0_93
	cmpl	$512, 8(%r11)
	jne	.LBB0_94
	cmpq	$0, 40(%rdi)
	jne	.LBB0_96
	cmpl	$128, (%r10)
	jne	.LBB0_99
	cmpl	$512, 8(%r10)
	jne	.LBB0_100
	cmpq	$0, 40(%r8)
	jne	.LBB0_101
	cmpl	$128, (%r9)
	jne	.LBB0_104
	cmpl	$128, 8(%r9)
	jne	.LBB0_105
	cmpq	$0, 40(%rsi)
	jne	.LBB0_106
	leaq	7(%rax), %rdi
	leaq	7(%rcx), %r8
	xorl	%r9d, %r9d
	jmp	.LBB0_58
.LBB0_57:
	.loc	1 66 17
	incq	%r9
	.loc	1 0 0 is_stmt 0
	addq	$512, %rdi
	cmpq	$128, %r9
	je	.LBB0_64
.LBB0_58:
	movq	%r9, %r10
	shlq	$9, %r10
	leaq	65536(%rcx), %rsi
	leaq	(%rdx,%r10), %r11
	leaq	512(%rdx,%r10), %rbx
	leaq	512(%rax,%r10), %r15
	leaq	(%rax,%r10), %r14
	cmpq	%rsi, %r11
	setb	%bpl
	cmpq	%rbx, %rcx
	setb	%r12b
	andb	%bpl, %r12b
	cmpq	%r15, %r11
	setb	%bpl
	cmpq	%rbx, %r14
	movq	%r8, %r14
	setb	%bl
	xorl	%r15d, %r15d
	andb	%bpl, %bl
	orb	%r12b, %bl
	jmp	.LBB0_61
.LBB0_59:
	movq	%r15, %r12
	shlq	$9, %r12
	.loc	1 66 17
	vpmovsxbw	64(%rax,%r10), %ymm12
	vpmovsxbw	(%rax,%r10), %ymm2
	vpmovsxbw	16(%rax,%r10), %ymm6
	vpmovsxbw	32(%rax,%r10), %ymm7
	vpmovsxbw	48(%rax,%r10), %ymm8
	vpmovsxbw	64(%rcx,%r12), %ymm0
	vpmovsxbw	(%rcx,%r12), %ymm1
	vpmovsxbw	80(%rcx,%r12), %ymm9
	vpmovsxbw	16(%rcx,%r12), %ymm3
	vpmovsxbw	96(%rcx,%r12), %ymm10
	vpmovsxbw	112(%rcx,%r12), %ymm11
	vpmovsxbw	32(%rcx,%r12), %ymm4
	vpmovsxbw	48(%rcx,%r12), %ymm5
	vpmaddwd	%ymm0, %ymm12, %ymm0
	vpdpwssd	%ymm1, %ymm2, %ymm0
	vpmovsxbw	80(%rax,%r10), %ymm1
	vpmaddwd	%ymm1, %ymm9, %ymm2
	vpmovsxbw	96(%rax,%r10), %ymm1
	vpdpwssd	%ymm3, %ymm6, %ymm2
	vpmovsxbw	112(%rax,%r10), %ymm3
	vpmovsxbw	160(%rcx,%r12), %ymm6
	vpmaddwd	%ymm1, %ymm10, %ymm1
	vpmaddwd	%ymm3, %ymm11, %ymm3
	vpdpwssd	%ymm4, %ymm7, %ymm1
	vpmovsxbw	128(%rcx,%r12), %ymm4
	vpmovsxbw	176(%rcx,%r12), %ymm7
	vpdpwssd	%ymm5, %ymm8, %ymm3
	vpmovsxbw	128(%rax,%r10), %ymm8
	vpmovsxbw	144(%rcx,%r12), %ymm5
	vpdpwssd	%ymm4, %ymm8, %ymm0
	vpmovsxbw	144(%rax,%r10), %ymm4
	vpmovsxbw	192(%rax,%r10), %ymm8
	vpdpwssd	%ymm5, %ymm4, %ymm2
	vpmovsxbw	160(%rax,%r10), %ymm4
	vpmovsxbw	208(%rcx,%r12), %ymm5
	vpdpwssd	%ymm6, %ymm4, %ymm1
	vpmovsxbw	176(%rax,%r10), %ymm4
	vpmovsxbw	224(%rcx,%r12), %ymm6
	vpdpwssd	%ymm7, %ymm4, %ymm3
	vpmovsxbw	192(%rcx,%r12), %ymm4
	vpmovsxbw	240(%rcx,%r12), %ymm7
	vpdpwssd	%ymm4, %ymm8, %ymm0
	vpmovsxbw	208(%rax,%r10), %ymm4
	vpmovsxbw	256(%rax,%r10), %ymm8
	vpdpwssd	%ymm5, %ymm4, %ymm2
	vpmovsxbw	224(%rax,%r10), %ymm4
	vpmovsxbw	272(%rcx,%r12), %ymm5
	vpdpwssd	%ymm6, %ymm4, %ymm1
	vpmovsxbw	240(%rax,%r10), %ymm4
	vpmovsxbw	288(%rcx,%r12), %ymm6
	vpdpwssd	%ymm7, %ymm4, %ymm3
	vpmovsxbw	256(%rcx,%r12), %ymm4
	vpmovsxbw	304(%rcx,%r12), %ymm7
	vpdpwssd	%ymm4, %ymm8, %ymm0
	vpmovsxbw	272(%rax,%r10), %ymm4
	vpmovsxbw	320(%rax,%r10), %ymm8
	vpdpwssd	%ymm5, %ymm4, %ymm2
	vpmovsxbw	288(%rax,%r10), %ymm4
	vpmovsxbw	336(%rcx,%r12), %ymm5
	vpdpwssd	%ymm6, %ymm4, %ymm1
	vpmovsxbw	304(%rax,%r10), %ymm4
	vpmovsxbw	352(%rcx,%r12), %ymm6
	vpdpwssd	%ymm7, %ymm4, %ymm3
	vpmovsxbw	320(%rcx,%r12), %ymm4
	vpmovsxbw	368(%rcx,%r12), %ymm7
	vpdpwssd	%ymm4, %ymm8, %ymm0
	vpmovsxbw	336(%rax,%r10), %ymm4
	vpmovsxbw	384(%rax,%r10), %ymm8
	vpdpwssd	%ymm5, %ymm4, %ymm2
	vpmovsxbw	352(%rax,%r10), %ymm4
	vpmovsxbw	400(%rcx,%r12), %ymm5
	vpdpwssd	%ymm6, %ymm4, %ymm1
	vpmovsxbw	368(%rax,%r10), %ymm4
	vpmovsxbw	416(%rcx,%r12), %ymm6
	vpdpwssd	%ymm7, %ymm4, %ymm3
	vpmovsxbw	384(%rcx,%r12), %ymm4
	vpmovsxbw	432(%rcx,%r12), %ymm7
	vpdpwssd	%ymm4, %ymm8, %ymm0
	vpmovsxbw	400(%rax,%r10), %ymm4
	vpmovsxbw	448(%rax,%r10), %ymm8
	vpdpwssd	%ymm5, %ymm4, %ymm2
	vpmovsxbw	416(%rax,%r10), %ymm4
	vpmovsxbw	464(%rcx,%r12), %ymm5
	vpdpwssd	%ymm6, %ymm4, %ymm1
	vpmovsxbw	432(%rax,%r10), %ymm4
	vpmovsxbw	480(%rcx,%r12), %ymm6
	vpdpwssd	%ymm7, %ymm4, %ymm3
	vpmovsxbw	448(%rcx,%r12), %ymm4
	vpmovsxbw	496(%rcx,%r12), %ymm7
	vpdpwssd	%ymm4, %ymm8, %ymm0
	vpmovsxbw	464(%rax,%r10), %ymm4
	vpdpwssd	%ymm5, %ymm4, %ymm2
	vpmovsxbw	480(%rax,%r10), %ymm5
	vpmovsxbw	496(%rax,%r10), %ymm4
	.loc	1 0 0
	vpaddd	%ymm0, %ymm2, %ymm0
	.loc	1 66 17
	vpdpwssd	%ymm6, %ymm5, %ymm1
	vpdpwssd	%ymm7, %ymm4, %ymm3
	.loc	1 0 0
	vpaddd	%ymm1, %ymm3, %ymm1
	vpaddd	%ymm0, %ymm1, %ymm0
	vextracti128	$1, %ymm0, %xmm1
	vpaddd	%xmm1, %xmm0, %xmm0
	vpshufd	$238, %xmm0, %xmm1
	vpaddd	%xmm1, %xmm0, %xmm0
	vpshufd	$85, %xmm0, %xmm1
	vpaddd	%xmm1, %xmm0, %xmm0
	.loc	1 66 17
	vmovd	%xmm0, (%r11,%r15,4)
.LBB0_60:
	incq	%r15
	.loc	1 0 0
	addq	$512, %r14
	cmpq	$128, %r15
	je	.LBB0_57
.LBB0_61:
	.loc	1 64 13 is_stmt 1
	movl	$0, (%r11,%r15,4)
	.loc	1 66 17
	testb	%bl, %bl
	je	.LBB0_59
	.loc	1 0 17 is_stmt 0
	xorl	%r13d, %r13d
	xorl	%r12d, %r12d
.LBB0_63:
	.loc	1 66 17 is_stmt 1
	movsbl	-7(%r14,%r12), %ebp
	movsbl	-7(%rdi,%r12), %esi
	imull	%ebp, %esi
	addl	%r13d, %esi
	movl	%esi, (%r11,%r15,4)
	movsbl	-6(%r14,%r12), %ebp
	movsbl	-6(%rdi,%r12), %r13d
	imull	%ebp, %r13d
	addl	%esi, %r13d
	movl	%r13d, (%r11,%r15,4)
	movsbl	-5(%r14,%r12), %esi
	movsbl	-5(%rdi,%r12), %ebp
	imull	%esi, %ebp
	addl	%r13d, %ebp
	movl	%ebp, (%r11,%r15,4)
	movsbl	-4(%r14,%r12), %esi
	movsbl	-4(%rdi,%r12), %r13d
	imull	%esi, %r13d
	addl	%ebp, %r13d
	movl	%r13d, (%r11,%r15,4)
	movsbl	-3(%r14,%r12), %esi
	movsbl	-3(%rdi,%r12), %ebp
	imull	%esi, %ebp
	addl	%r13d, %ebp
	movl	%ebp, (%r11,%r15,4)
	movsbl	-2(%r14,%r12), %esi
	movsbl	-2(%rdi,%r12), %r13d
	imull	%esi, %r13d
	addl	%ebp, %r13d
	movl	%r13d, (%r11,%r15,4)
	movsbl	-1(%r14,%r12), %esi
	movsbl	-1(%rdi,%r12), %ebp
	imull	%esi, %ebp
	addl	%r13d, %ebp
	movl	%ebp, (%r11,%r15,4)
	movsbl	(%r14,%r12), %esi
	movsbl	(%rdi,%r12), %r13d
	addq	$8, %r12
	imull	%esi, %r13d
	addl	%ebp, %r13d
	movl	%r13d, (%r11,%r15,4)
	.loc	1 0 0 is_stmt 0
	cmpq	$512, %r12
	je	.LBB0_60
	jmp	.LBB0_63
.LBB0_64:
	xorl	%eax, %eax
.LBB0_65:
	addq	$8, %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	vzeroupper
	retq
.LBB0_66:
	leaq	.L.str.6(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.1(%rip), %rdx
	leaq	.L.str.2(%rip), %rcx
	leaq	.L.str.3(%rip), %r8
	jmp	.LBB0_90
.LBB0_67:
	subq	$16, %rsp
	vpxor	%xmm0, %xmm0, %xmm0
	vmovdqu	%xmm0, (%rsp)
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.7(%rip), %rdx
	leaq	.L.str.4(%rip), %rcx
	leaq	.L.str.5(%rip), %r8
	leaq	.L.str.6(%rip), %r9
	movl	$4, %esi
	jmp	.LBB0_92
.LBB0_68:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.9(%rip), %rcx
	jmp	.LBB0_77
.LBB0_69:
	leaq	.L.str.13(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_109
.LBB0_70:
	leaq	.L.str.19(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_109
.LBB0_71:
	leaq	.L.str.21(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.20(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_109
.LBB0_72:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.12(%rip), %rcx
	jmp	.LBB0_77
.LBB0_73:
	leaq	.L.str.13(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	jmp	.LBB0_103
.LBB0_74:
	leaq	.L.str.19(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	jmp	.LBB0_103
.LBB0_75:
	leaq	.L.str.21(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.20(%rip), %r8
	jmp	.LBB0_103
.LBB0_76:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.13(%rip), %rcx
.LBB0_77:
	leaq	.L.str.4(%rip), %r8
	leaq	.L.str.5(%rip), %r9
	jmp	.LBB0_91
.LBB0_78:
	leaq	.L.str.13(%rip), %r9
	leaq	.L.str.10(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.23(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	jmp	.LBB0_97
.LBB0_79:
	leaq	.L.str.24(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.23(%rip), %rcx
	leaq	.L.str.18(%rip), %r8
	jmp	.LBB0_108
.LBB0_80:
	leaq	.L.str.21(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.23(%rip), %rcx
	leaq	.L.str.20(%rip), %r8
	jmp	.LBB0_108
.LBB0_81:
	leaq	.L.str.26(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.16(%rip), %rcx
	leaq	.L.str.25(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_87
.LBB0_82:
	leaq	.L.str.28(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.16(%rip), %rdx
	leaq	.L.str.27(%rip), %rcx
	leaq	.L.str.9(%rip), %r8
	jmp	.LBB0_90
.LBB0_83:
	leaq	.L.str.26(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.22(%rip), %rcx
	leaq	.L.str.25(%rip), %r8
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_87
.LBB0_84:
	leaq	.L.str.32(%rip), %rax
	leaq	.L.str.31(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.29(%rip), %rcx
	jmp	.LBB0_102
.LBB0_85:
	leaq	.L.str.28(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.22(%rip), %rdx
	leaq	.L.str.27(%rip), %rcx
	leaq	.L.str.12(%rip), %r8
	jmp	.LBB0_90
.LBB0_86:
	leaq	.L.str.26(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.23(%rip), %rcx
	leaq	.L.str.25(%rip), %r8
	leaq	.L.str.13(%rip), %r9
.LBB0_87:
	movl	$7, %esi
	pushq	$0
	jmp	.LBB0_98
.LBB0_88:
	leaq	.L.str.32(%rip), %rax
	leaq	.L.str.31(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.33(%rip), %rcx
	jmp	.LBB0_107
.LBB0_89:
	leaq	.L.str.28(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.23(%rip), %rdx
	leaq	.L.str.27(%rip), %rcx
	leaq	.L.str.13(%rip), %r8
.LBB0_90:
	leaq	.L.str.4(%rip), %r9
.LBB0_91:
	movl	$6, %esi
	pushq	%rax
	pushq	%r10
.LBB0_92:
	callq	__tvm_set_raised_6
	jmp	.LBB0_111
.LBB0_93:
	leaq	.L.str.36(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.35(%rip), %rcx
	jmp	.LBB0_95
.LBB0_94:
	leaq	.L.str.38(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.37(%rip), %rcx
.LBB0_95:
	leaq	.L.str.30(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_109
.LBB0_96:
	leaq	.L.str.9(%rip), %r9
	leaq	.L.str.10(%rip), %rax
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.39(%rip), %rcx
	leaq	.L.str.30(%rip), %r8
.LBB0_97:
	movl	$8, %esi
	pushq	%r9
.LBB0_98:
	pushq	%rax
	jmp	.LBB0_110
.LBB0_99:
	leaq	.L.str.36(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.40(%rip), %rcx
	jmp	.LBB0_102
.LBB0_100:
	leaq	.L.str.38(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.41(%rip), %rcx
	jmp	.LBB0_102
.LBB0_101:
	leaq	.L.str.9(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.42(%rip), %rcx
.LBB0_102:
	leaq	.L.str.30(%rip), %r8
.LBB0_103:
	leaq	.L.str.12(%rip), %r9
	jmp	.LBB0_109
.LBB0_104:
	leaq	.L.str.36(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.43(%rip), %rcx
	jmp	.LBB0_107
.LBB0_105:
	leaq	.L.str.36(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.44(%rip), %rcx
	jmp	.LBB0_107
.LBB0_106:
	leaq	.L.str.9(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.14(%rip), %rdi
	leaq	.L.str.34(%rip), %rdx
	leaq	.L.str.45(%rip), %rcx
.LBB0_107:
	leaq	.L.str.30(%rip), %r8
.LBB0_108:
	leaq	.L.str.13(%rip), %r9
.LBB0_109:
	movl	$8, %esi
	pushq	%rax
	pushq	%r10
.LBB0_110:
	callq	__tvm_set_raised_12
.LBB0_111:
	addq	$16, %rsp
	movl	$-1, %eax
	jmp	.LBB0_65
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
	jmp	__tvm_ffi_transposed@PLT
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
