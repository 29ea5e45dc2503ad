;;; emacs_common.el --- Waits for what Emacs displays, and writes it down  -*- lexical-binding: t -*-

;; For a script that is run on a terminal as: emacs -nw -Q -l SCRIPT, with a JSON object in the
;; variable GIVEN. The script defines `run'.

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

(defun hover ()
  "What eldoc is told at point."
  (let (text)
    (eglot-hover-eldoc-function (lambda (string &rest _) (setq text (or string ""))))
    (wait "the hover" (lambda () text))
    (substring-no-properties text)))

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
;;; emacs_common.el ends here
