;;; emacs.el --- Opens files in Emacs and tells what a user sees  -*- lexical-binding: t -*-

;; Run on a terminal as: emacs -nw -Q -l emacs.el, with a JSON object in the variable GIVEN.

(defvar given (json-parse-string (getenv "GIVEN") :object-type 'plist :array-type 'array))
(defvar seen nil)

(defun tell (key value)
  "Add VALUE to what was seen, as KEY."
  (setq seen (plist-put seen key value)))

(defun wait (what ask)
  "The value of ASK as soon as it is not nil; WHAT is what was waited for in vain."
  (let ((deadline (+ (float-time) 120)) answer)
    (while (not (setq answer (funcall ask)))
      (when (> (float-time) deadline)
        (error "Waited for %s" what))
      (redisplay)
      (accept-process-output nil 0.05))
    answer))

(defun shown (property)
  "Lines and texts of what overlays with PROPERTY show in the current buffer."
  (let (found)
    (dolist (overlay (overlays-in (point-min) (point-max)) (vconcat found))
      (when (overlay-get overlay property)
        (push (list :line (line-number-at-pos (overlay-start overlay))
                    :text (substring-no-properties
                           (or (overlay-get overlay 'before-string)
                               (overlay-get overlay 'after-string))))
              found)))))

(defun lenses-with (words)
  "What is shown above the kernels as soon as WORDS are in it."
  (wait words (lambda ()
                (let ((found (shown 'tirlens--commands)))
                  (and (seq-some (lambda (lens) (string-search words (plist-get lens :text)))
                                 found)
                       found)))))

(defun hover ()
  "What eldoc is told at point."
  (let (text)
    (eglot-hover-eldoc-function (lambda (string &rest _) (setq text (or string ""))))
    (wait "the hover" (lambda () text))
    (substring-no-properties text)))

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

(defun finish (problem)
  "Write what was seen, and the PROBLEM that there was, and end."
  (tell :error (or problem :null))
  (with-temp-file (plist-get given :answer)
    (insert (json-serialize seen :false-object :false :null-object :null)))
  (set-buffer-modified-p nil)
  (kill-emacs (if problem 1 0)))

;; The terminal is there when this timer runs.
(run-with-timer
 0 nil
 (lambda ()
   (condition-case problem
       (progn (run) (finish nil))
     (error (finish (error-message-string problem))))))
;;; emacs.el ends here
