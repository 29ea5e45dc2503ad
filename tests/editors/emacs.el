;;; emacs.el --- Opens files in Emacs and tells what a user sees  -*- lexical-binding: t -*-

(load (expand-file-name "emacs_common.el" (file-name-directory load-file-name)))

(defun lenses-with (words)
  "What is shown above the kernels as soon as WORDS are in it."
  (wait words (lambda ()
                (let ((found (shown 'tirlens--commands)))
                  (and (seq-some (lambda (lens) (string-search words (plist-get lens :text)))
                                 found)
                       found)))))

(defun choosing (words)
  "Act on the kernel at point; of what there is to choose from, take what has WORDS in it, in turn."
  (cl-letf (((symbol-function 'completing-read)
             (lambda (_ choices &rest _)
               (let ((word (pop words)))
                 (or (seq-find (lambda (choice) (string-search word choice))
                               (all-completions "" choices))
                     (error "No %s in %s" word choices))))))
    (tirlens-act)
    (wait "all questions" (lambda () (null words)))))

(defun run ()
  "Do what a user does."
  (load (plist-get given :package))
  (setq tirlens-command (append (plist-get given :command) nil))
  (find-file (plist-get given :file))
  (let ((eglot-sync-connect t))
    (call-interactively #'tirlens))
  (let ((server (eglot-current-server)))
    (tell :untrusted (lenses-with "untrusted"))
    (eglot-shutdown server))
  (setq trusted-content (list (plist-get given :trusted)))
  (let ((eglot-sync-connect t))
    (call-interactively #'tirlens))
  (tell :lenses (lenses-with "h100-sxm"))
  (tell :hints (wait "hints" (lambda ()
                               (let ((found (shown 'eglot--inlay-hint)))
                                 (and (> (length found) 0) found)))))
  (goto-char (point-min))
  (search-forward (plist-get given :operation))
  (goto-char (match-beginning 0))
  (tell :hover (hover))
  (goto-char (point-min))
  (search-forward (plist-get given :definition))
  (tirlens-code)
  (tell :sass (wait "machine code"
                    (lambda ()
                      (when-let* ((buffer (seq-find (lambda (one)
                                                      (string-suffix-p ".sass.txt" (buffer-name one)))
                                                    (buffer-list))))
                        (with-current-buffer buffer
                          (buffer-substring-no-properties (point-min) (point-max)))))))
  (delete-other-windows)
  (choosing (list (plist-get given :device) (plist-get given :other)))
  (tell :on_other_device (lenses-with (plist-get given :other)))
  ;; What an analysis has changed is shown without a key pressed.
  (goto-char (point-min))
  (replace-regexp-in-region (plist-get given :before) (plist-get given :after))
  (save-buffer)
  (tell :saved (lenses-with (plist-get given :changed)))
  (let ((server (eglot-current-server)))
    (find-file (plist-get given :broken))
    (flymake-mode 1)
    (tell :problems
          (vconcat (wait "a problem"
                         (lambda ()
                           (mapcar (lambda (problem)
                                     (list :line (line-number-at-pos
                                                  (flymake-diagnostic-beg problem))
                                           :text (flymake-diagnostic-text problem)))
                                   (flymake-diagnostics))))))
    (eglot-shutdown server)
    (tell :stopped (if (jsonrpc-running-p server) :false t))))

;;; emacs.el ends here
