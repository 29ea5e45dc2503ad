;;; tirlens.el --- What each line of a GPU kernel costs  -*- lexical-binding: t -*-

;; Package-Requires: ((emacs "30.1"))
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; After (load ".../emacs/tirlens.el"), `M-x tirlens' in a file with kernels shows what they cost:
;; a line above each kernel, hints beside its lines, the reasons by `M-x eldoc', problems in
;; Flymake.  `M-x tirlens-act' opens a kernel's report, or chooses its arguments or its device;
;; `M-x tirlens-code' opens its CUDA source and its machine code.
;;
;; The code of a project is run only if Emacs trusts the project's folder (`trusted-content').
;; Eglot talks to one server in a buffer: this one takes the place of another for Python.

;;; Code:

(require 'eglot)

(defgroup tirlens nil "What GPU kernels cost." :group 'tools)

(defcustom tirlens-command '("tirlens" "serve")
  "The command that starts the server, as a list of words."
  :type '(repeat string))

(defface tirlens-lens '((t (:inherit shadow :height 0.9)))
  "What is shown above a kernel.")

(defclass tirlens-server (eglot-lsp-server) ()
  "The server, which tells what Eglot does not ask for by itself.")

;;;###autoload
(defun tirlens ()
  "Show what the kernels of this buffer cost, after each save anew."
  (interactive)
  (eglot (list major-mode) (eglot--current-project) 'tirlens-server tirlens-command '("python")))

(cl-defmethod eglot-initialization-options ((server tirlens-server))
  "Have the code of SERVER's project run if Emacs trusts its folder."
  (let ((buffer-file-truename (file-truename (project-root (eglot--project server)))))
    (list :trusted (if (trusted-content-p) t :json-false))))

(cl-defmethod eglot-handle-notification
  ((server tirlens-server) (_method (eql tirlens/status)) &key uri state &allow-other-keys)
  "Draw the file URI anew unless it is being analysed, as SERVER tells by STATE."
  (when-let* (((not (equal state "analyzing")))
              (buffer (find-buffer-visiting (eglot-uri-to-path uri))))
    (with-current-buffer buffer
      (when eglot-inlay-hints-mode
        (eglot--update-hints-1 (point-min) (point-max)))
      (tirlens--ask server))))

(cl-defmethod eglot-client-capabilities ((_server tirlens-server))
  "Eglot's, and that lenses can be drawn again."
  (let ((capabilities (cl-call-next-method)))
    (plist-put capabilities :workspace
               (append (plist-get capabilities :workspace)
                       '(:codeLens (:refreshSupport t))))))

(cl-defmethod eglot-handle-request
  ((server tirlens-server) (_method (eql workspace/codeLens/refresh)) &rest _)
  "Draw the lenses of SERVER's buffers again."
  (dolist (buffer (eglot--managed-buffers server))
    (eglot--when-live-buffer buffer (tirlens--ask server))))

(defun tirlens--ask (server)
  "Ask SERVER for the lenses of the current buffer, and draw them."
  (let ((buffer (current-buffer)))
    (jsonrpc-async-request
     server :textDocument/codeLens (list :textDocument (eglot--TextDocumentIdentifier))
     :success-fn (lambda (lenses)
                   (when (buffer-live-p buffer)
                     (with-current-buffer buffer (tirlens--draw lenses)))))))

;;;###autoload
(defun tirlens-act ()
  "Open the report of the kernel at point, or choose its arguments or device."
  (interactive)
  (let* ((commands (tirlens--commands))
         (titles (mapcar (lambda (command) (plist-get command :title)) commands))
         (title (completing-read "What: " titles nil t)))
    (eglot-execute (eglot--current-server-or-lose)
                   (seq-find (lambda (command) (equal (plist-get command :title) title))
                             commands))))

;;;###autoload
(defun tirlens-code ()
  "Open the CUDA source of the kernel at point, and then its machine code."
  (interactive)
  (eglot-execute (eglot--current-server-or-lose)
                 (list :title "Show the generated code" :command "tirlens.showGeneratedCode"
                       :arguments (plist-get (car (tirlens--commands)) :arguments))))

(defun tirlens--commands ()
  "The commands of the lens of the kernel at point."
  (let* ((overlays (seq-filter (lambda (overlay) (overlay-get overlay 'tirlens--commands))
                               (overlays-in (point-min) (1+ (pos-eol)))))
         (nearest (car (seq-sort-by #'overlay-start #'> overlays))))
    (or (and nearest (overlay-get nearest 'tirlens--commands))
        (user-error "No kernel here"))))

(defun tirlens--draw (lenses)
  "Show the titles of LENSES above their lines."
  (eglot--widening
   (mapc #'delete-overlay (seq-filter (lambda (overlay) (overlay-get overlay 'tirlens--commands))
                                      (overlays-in (point-min) (point-max))))
   (dolist (group (seq-group-by (lambda (lens) (map-nested-elt lens '(:range :start :line)))
                                lenses))
     (goto-char (eglot--lsp-position-to-point (list :line (car group) :character 0)))
     (let* ((indent (buffer-substring (point) (progn (back-to-indentation) (point))))
            (commands (mapcar (lambda (lens) (plist-get lens :command)) (cdr group)))
            (titles (mapconcat (lambda (command) (plist-get command :title)) commands " | "))
            (overlay (make-overlay (pos-bol) (pos-bol))))
       (overlay-put overlay 'tirlens--commands commands)
       (overlay-put overlay 'eglot--overlay t)
       (overlay-put overlay 'before-string
                    (propertize (concat indent titles "\n") 'face 'tirlens-lens))))))

(provide 'tirlens)
;;; tirlens.el ends here
