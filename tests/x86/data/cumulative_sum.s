	.type	__tvm_ffi_rows,@function
__tvm_ffi_rows:
	.loc	1 0 0
	pushq	%rax
	cmpl	$2, %edx
	jne	.LBB0_44
	testq	%rsi, %rsi
	je	.LBB0_45
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
	ja	.LBB0_50
	movl	$145, %edx
	btl	%ecx, %edx
	jb	.LBB0_12
	jmp	.LBB0_50
.LBB0_7:
	cmpl	$7, %eax
	ja	.LBB0_46
	movl	$145, %ecx
	btl	%eax, %ecx
	jae	.LBB0_46
.LBB0_9:
	movq	8(%rsi), %rax
	movl	16(%rsi), %ecx
	cmpl	$63, %ecx
	jle	.LBB0_5
.LBB0_10:
	cmpl	$70, %ecx
	jne	.LBB0_12
	movq	24(%rsi), %rcx
	addq	$24, %rcx
	jmp	.LBB0_13
.LBB0_12:
	movq	24(%rsi), %rcx
.LBB0_13:
	testq	%rax, %rax
	je	.LBB0_46
	cmpl	$2, 16(%rax)
	jne	.LBB0_47
	cmpw	$1, 22(%rax)
	jne	.LBB0_48
	cmpb	$32, 21(%rax)
	jne	.LBB0_48
	cmpb	$2, 20(%rax)
	jne	.LBB0_48
	cmpl	$1, 8(%rax)
	jne	.LBB0_49
	testq	%rcx, %rcx
	je	.LBB0_50
	cmpl	$2, 16(%rcx)
	jne	.LBB0_52
	cmpw	$1, 22(%rcx)
	jne	.LBB0_53
	cmpb	$32, 21(%rcx)
	jne	.LBB0_53
	cmpb	$2, 20(%rcx)
	jne	.LBB0_53
	cmpl	$1, 8(%rcx)
	jne	.LBB0_54
	movq	24(%rax), %r8
	movq	32(%rax), %rdx
	movl	12(%rax), %esi
	movq	24(%rcx), %rdi
	movq	32(%rcx), %r9
	testq	%rdx, %rdx
	je	.LBB0_27
	vpxor	%xmm0, %xmm0, %xmm0
	vpblendd	$5, (%rdx), %xmm0, %xmm0
	vpxor	.LCPI0_0(%rip), %xmm0, %xmm0
	vptest	%xmm0, %xmm0
	jne	.LBB0_55
.LBB0_27:
	movq	(%rax), %rdx
	testq	%rdx, %rdx
	je	.LBB0_56
	testq	%r9, %r9
	je	.LBB0_30
	vpxor	%xmm0, %xmm0, %xmm0
	vpblendd	$5, (%r9), %xmm0, %xmm0
	vpxor	.LCPI0_0(%rip), %xmm0, %xmm0
	vptest	%xmm0, %xmm0
	jne	.LBB0_57
.LBB0_30:
	cmpl	12(%rcx), %esi
	jne	.LBB0_59
	movq	(%rcx), %rsi
	testq	%rsi, %rsi
	je	.LBB0_60
	cmpl	$128, (%r8)
	jne	.LBB0_64
	cmpl	$2048, 8(%r8)
	jne	.LBB0_65
	cmpq	$0, 40(%rax)
	jne	.LBB0_67
	cmpl	$128, (%rdi)
	jne	.LBB0_70
	cmpl	$2048, 8(%rdi)
	jne	.LBB0_71
	cmpq	$0, 40(%rcx)
	jne	.LBB0_72
	xorl	%eax, %eax
	movq	%rdx, %rcx
	movq	%rsi, %rdi
	jmp	.LBB0_40
.LBB0_39:
	.loc	1 268 17
	incq	%rax
	.loc	1 0 0 is_stmt 0
	addq	$8192, %rdi
	addq	$8192, %rcx
	cmpq	$128, %rax
	je	.LBB0_43
.LBB0_40:
	movq	%rax, %r8
	shlq	$13, %r8
	.loc	1 266 13 is_stmt 1
	vmovss	(%rdx,%r8), %xmm0
	vmovss	%xmm0, (%rsi,%r8)
	movl	$8, %r8d
	.loc	1 0 13 is_stmt 0
.LBB0_41:
	.loc	1 268 17 is_stmt 1
	vaddss	-28(%rcx,%r8,4), %xmm0, %xmm0
	vmovss	%xmm0, -28(%rdi,%r8,4)
	vaddss	-24(%rcx,%r8,4), %xmm0, %xmm0
	vmovss	%xmm0, -24(%rdi,%r8,4)
	vaddss	-20(%rcx,%r8,4), %xmm0, %xmm0
	vmovss	%xmm0, -20(%rdi,%r8,4)
	vaddss	-16(%rcx,%r8,4), %xmm0, %xmm0
	vmovss	%xmm0, -16(%rdi,%r8,4)
	vaddss	-12(%rcx,%r8,4), %xmm0, %xmm0
	vmovss	%xmm0, -12(%rdi,%r8,4)
	vaddss	-8(%rcx,%r8,4), %xmm0, %xmm0
	vmovss	%xmm0, -8(%rdi,%r8,4)
	vaddss	-4(%rcx,%r8,4), %xmm0, %xmm0
	vmovss	%xmm0, -4(%rdi,%r8,4)
	.loc	1 0 0 is_stmt 0
	cmpq	$2048, %r8
	je	.LBB0_39
	.loc	1 268 17
	vaddss	(%rcx,%r8,4), %xmm0, %xmm0
	vmovss	%xmm0, (%rdi,%r8,4)
	.loc	1 0 0
	addq	$8, %r8
	jmp	.LBB0_41
.LBB0_43:
	xorl	%eax, %eax
	popq	%rcx
	retq
.LBB0_44:
	leaq	.L.str.6(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.1(%rip), %rdx
	leaq	.L.str.2(%rip), %rcx
	leaq	.L.str.3(%rip), %r8
	jmp	.LBB0_61
.LBB0_45:
	subq	$16, %rsp
	vpxor	%xmm0, %xmm0, %xmm0
	vmovdqu	%xmm0, (%rsp)
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.7(%rip), %rdx
	leaq	.L.str.4(%rip), %rcx
	leaq	.L.str.5(%rip), %r8
	leaq	.L.str.6(%rip), %r9
	movl	$4, %esi
	jmp	.LBB0_63
.LBB0_46:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.9(%rip), %rcx
	jmp	.LBB0_51
.LBB0_47:
	leaq	.L.str.2(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.13(%rip), %rdi
	leaq	.L.str.14(%rip), %rdx
	leaq	.L.str.15(%rip), %rcx
	leaq	.L.str.16(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_75
.LBB0_48:
	leaq	.L.str.18(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.14(%rip), %rdx
	leaq	.L.str.15(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_75
.LBB0_49:
	leaq	.L.str.20(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.13(%rip), %rdi
	leaq	.L.str.14(%rip), %rdx
	leaq	.L.str.15(%rip), %rcx
	leaq	.L.str.19(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_75
.LBB0_50:
	leaq	.L.str.11(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.8(%rip), %rdx
	leaq	.L.str.12(%rip), %rcx
.LBB0_51:
	leaq	.L.str.4(%rip), %r8
	leaq	.L.str.5(%rip), %r9
	jmp	.LBB0_62
.LBB0_52:
	leaq	.L.str.2(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.13(%rip), %rdi
	leaq	.L.str.14(%rip), %rdx
	leaq	.L.str.21(%rip), %rcx
	leaq	.L.str.16(%rip), %r8
	jmp	.LBB0_74
.LBB0_53:
	leaq	.L.str.18(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str(%rip), %rdi
	leaq	.L.str.14(%rip), %rdx
	leaq	.L.str.21(%rip), %rcx
	leaq	.L.str.17(%rip), %r8
	jmp	.LBB0_74
.LBB0_54:
	leaq	.L.str.20(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.13(%rip), %rdi
	leaq	.L.str.14(%rip), %rdx
	leaq	.L.str.21(%rip), %rcx
	leaq	.L.str.19(%rip), %r8
	jmp	.LBB0_74
.LBB0_55:
	leaq	.L.str.23(%rip), %rax
	leaq	.L.str.13(%rip), %rdi
	leaq	.L.str.14(%rip), %rdx
	leaq	.L.str.15(%rip), %rcx
	leaq	.L.str.22(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_58
.LBB0_56:
	leaq	.L.str.25(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.13(%rip), %rdi
	leaq	.L.str.15(%rip), %rdx
	leaq	.L.str.24(%rip), %rcx
	leaq	.L.str.9(%rip), %r8
	jmp	.LBB0_61
.LBB0_57:
	leaq	.L.str.23(%rip), %rax
	leaq	.L.str.13(%rip), %rdi
	leaq	.L.str.14(%rip), %rdx
	leaq	.L.str.21(%rip), %rcx
	leaq	.L.str.22(%rip), %r8
	leaq	.L.str.12(%rip), %r9
.LBB0_58:
	movl	$7, %esi
	pushq	$0
	jmp	.LBB0_68
.LBB0_59:
	leaq	.L.str.29(%rip), %rax
	leaq	.L.str.28(%rip), %r10
	leaq	.L.str.13(%rip), %rdi
	leaq	.L.str.14(%rip), %rdx
	leaq	.L.str.26(%rip), %rcx
	jmp	.LBB0_73
.LBB0_60:
	leaq	.L.str.25(%rip), %rax
	leaq	.L.str.5(%rip), %r10
	leaq	.L.str.13(%rip), %rdi
	leaq	.L.str.21(%rip), %rdx
	leaq	.L.str.24(%rip), %rcx
	leaq	.L.str.12(%rip), %r8
.LBB0_61:
	leaq	.L.str.4(%rip), %r9
.LBB0_62:
	movl	$6, %esi
	pushq	%rax
	pushq	%r10
.LBB0_63:
	callq	__tvm_set_raised_6
	addq	$16, %rsp
	movl	$-1, %eax
	popq	%rcx
	retq
.LBB0_64:
	leaq	.L.str.32(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.13(%rip), %rdi
	leaq	.L.str.30(%rip), %rdx
	leaq	.L.str.31(%rip), %rcx
	jmp	.LBB0_66
.LBB0_65:
	leaq	.L.str.34(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.13(%rip), %rdi
	leaq	.L.str.30(%rip), %rdx
	leaq	.L.str.33(%rip), %rcx
.LBB0_66:
	leaq	.L.str.27(%rip), %r8
	leaq	.L.str.9(%rip), %r9
	jmp	.LBB0_75
.LBB0_67:
	leaq	.L.str.9(%rip), %r9
	leaq	.L.str.10(%rip), %rax
	leaq	.L.str.13(%rip), %rdi
	leaq	.L.str.30(%rip), %rdx
	leaq	.L.str.35(%rip), %rcx
	leaq	.L.str.27(%rip), %r8
	movl	$8, %esi
	pushq	%r9
.LBB0_68:
	pushq	%rax
	jmp	.LBB0_69
.LBB0_70:
	leaq	.L.str.32(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.13(%rip), %rdi
	leaq	.L.str.30(%rip), %rdx
	leaq	.L.str.36(%rip), %rcx
	jmp	.LBB0_73
.LBB0_71:
	leaq	.L.str.34(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.13(%rip), %rdi
	leaq	.L.str.30(%rip), %rdx
	leaq	.L.str.37(%rip), %rcx
	jmp	.LBB0_73
.LBB0_72:
	leaq	.L.str.9(%rip), %rax
	leaq	.L.str.10(%rip), %r10
	leaq	.L.str.13(%rip), %rdi
	leaq	.L.str.30(%rip), %rdx
	leaq	.L.str.38(%rip), %rcx
.LBB0_73:
	leaq	.L.str.27(%rip), %r8
.LBB0_74:
	leaq	.L.str.12(%rip), %r9
.LBB0_75:
	movl	$8, %esi
	pushq	%rax
	pushq	%r10
.LBB0_69:
	callq	__tvm_set_raised_12
	addq	$16, %rsp
	movl	$-1, %eax
	popq	%rcx
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
	jmp	__tvm_ffi_rows@PLT
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
.LpubNames_start0:
.LpubNames_end0:
.LpubTypes_start0:
.LpubTypes_end0:
.Lline_table_start0:
