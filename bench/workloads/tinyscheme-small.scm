; SPDX-License-Identifier: GPL-2.0-or-later
; Queens, a sort, a table, and a small evaluator.
(define (queens board)
  (define (ok? row dist placed)
    (or (null? placed)
        (and (not (= (car placed) (+ row dist)))
             (not (= (car placed) (- row dist)))
             (not (= (car placed) row))
             (ok? row (+ dist 1) (cdr placed)))))
  (define (try row k placed)
    (cond ((= k 0) 1)
          ((> row board) 0)
          (else (+ (if (ok? row 1 placed) (try 1 (- k 1) (cons row placed)) 0)
                   (try (+ row 1) k placed)))))
  (try 1 board '()))

(define seed 7)
(define (random n)
  (set! seed (modulo (* seed 16807) 2147483647))
  (modulo seed n))

(define (numbers n)
  (if (= n 0) '() (cons (random 100000) (numbers (- n 1)))))

(define (merge a b)
  (cond ((null? a) b)
        ((null? b) a)
        ((< (car a) (car b)) (cons (car a) (merge (cdr a) b)))
        (else (cons (car b) (merge a (cdr b))))))

(define (split l even odd)
  (if (null? l) (cons even odd) (split (cdr l) (cons (car l) odd) even)))

(define (sorted l)
  (if (or (null? l) (null? (cdr l)))
      l
      (let ((halves (split l '() '())))
        (merge (sorted (car halves)) (sorted (cdr halves))))))

(define (keys n table)
  (if (= n 0)
      (length table)
      (let* ((word (random 60)) (has (assv word table)))
        (if has (set-cdr! has (+ 1 (cdr has))))
        (keys (- n 1) (if has table (cons (cons word 1) table))))))

(define (value e)
  (cond ((number? e) e)
        ((eq? (car e) 'add) (+ (value (cadr e)) (value (caddr e))))
        (else (modulo (* (value (cadr e)) (value (caddr e))) 9973))))

(define (tree n)
  (if (= n 0) (random 100) (list (if (= 0 (random 2)) 'add 'times) (tree (- n 1)) (tree (- n 1)))))

(display (queens 6))
(display (apply + (sorted (numbers 1200))))
(display (keys 1500 '()))
(display (value (tree 9)))
(newline)
