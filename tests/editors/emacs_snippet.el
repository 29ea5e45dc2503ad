;;; emacs_snippet.el --- Opens a file with a user's configuration  -*- lexical-binding: t -*-

(load (expand-file-name "emacs_common.el" (file-name-directory load-file-name)))

(defun run ()
  "Do what a user does."
  (load (plist-get given :configuration))
  (find-file (plist-get given :file))
  (call-interactively #'eglot)
  (tell :hints (wait "hints" (lambda ()
                               (let ((found (shown 'eglot--inlay-hint)))
                                 (and (> (length found) 0) found)))))
  (goto-char (point-min))
  (search-forward (plist-get given :operation))
  (goto-char (match-beginning 0))
  (tell :hover (hover))
  (eglot-shutdown (eglot-current-server)))
;;; emacs_snippet.el ends here
