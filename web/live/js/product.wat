;; y (S, N) = x (S, K) · w (N, K)ᵀ + b (N), all float32; K and N divisible by 4. All arguments but S, K, N are addresses.
;; Two rows of x times four rows of w at a time: eight sums, of four lanes each, stay in registers, and each number that is
;; loaded is used for two or four of them.
(module
  (memory (export "memory") 1)

  (func $lanes (param $v v128) (result f32)
    (f32.add (f32.add (f32x4.extract_lane 0 (local.get $v)) (f32x4.extract_lane 1 (local.get $v)))
             (f32.add (f32x4.extract_lane 2 (local.get $v)) (f32x4.extract_lane 3 (local.get $v)))))

  ;; Four results of one row, from their sums and the bias.
  (func $store (param $y i32) (param $b i32) (param $s0 v128) (param $s1 v128) (param $s2 v128) (param $s3 v128)
    (f32.store           (local.get $y) (f32.add (call $lanes (local.get $s0)) (f32.load           (local.get $b))))
    (f32.store offset=4  (local.get $y) (f32.add (call $lanes (local.get $s1)) (f32.load offset=4  (local.get $b))))
    (f32.store offset=8  (local.get $y) (f32.add (call $lanes (local.get $s2)) (f32.load offset=8  (local.get $b))))
    (f32.store offset=12 (local.get $y) (f32.add (call $lanes (local.get $s3)) (f32.load offset=12 (local.get $b)))))

  (func (export "product") (param $x i32) (param $w i32) (param $b i32) (param $y i32)
                           (param $S i32) (param $K i32) (param $N i32)
    (local $n i32) (local $s i32) (local $last i32)                 ;; row of w, row of x, is it x's last
    (local $wide i32) (local $high i32)                             ;; bytes of a row of x or w, and of y
    (local $i0 i32) (local $i1 i32) (local $end i32) (local $out i32)
    (local $j0 i32) (local $j1 i32) (local $j2 i32) (local $j3 i32)
    (local $a0 v128) (local $a1 v128) (local $a2 v128) (local $a3 v128)  ;; sums of the first row of x
    (local $c0 v128) (local $c1 v128) (local $c2 v128) (local $c3 v128)  ;; and of the second
    (local $u v128) (local $v v128) (local $t v128)
    (local.set $wide (i32.shl (local.get $K) (i32.const 2)))
    (local.set $high (i32.shl (local.get $N) (i32.const 2)))
    (loop $four_rows_of_w
      (local.set $s (i32.const 0))
      (loop $two_rows_of_x
        (local.set $last (i32.ge_u (i32.add (local.get $s) (i32.const 1)) (local.get $S)))
        (local.set $i0 (i32.add (local.get $x) (i32.mul (local.get $s) (local.get $wide))))
        ;; an odd last row is computed twice and stored once
        (local.set $i1 (select (local.get $i0) (i32.add (local.get $i0) (local.get $wide)) (local.get $last)))
        (local.set $end (i32.add (local.get $i0) (local.get $wide)))
        (local.set $j0 (i32.add (local.get $w) (i32.mul (local.get $n) (local.get $wide))))
        (local.set $j1 (i32.add (local.get $j0) (local.get $wide)))
        (local.set $j2 (i32.add (local.get $j1) (local.get $wide)))
        (local.set $j3 (i32.add (local.get $j2) (local.get $wide)))
        (local.set $a0 (v128.const i32x4 0 0 0 0)) (local.set $c0 (v128.const i32x4 0 0 0 0))
        (local.set $a1 (v128.const i32x4 0 0 0 0)) (local.set $c1 (v128.const i32x4 0 0 0 0))
        (local.set $a2 (v128.const i32x4 0 0 0 0)) (local.set $c2 (v128.const i32x4 0 0 0 0))
        (local.set $a3 (v128.const i32x4 0 0 0 0)) (local.set $c3 (v128.const i32x4 0 0 0 0))
        (loop $four_numbers
          (local.set $u (v128.load (local.get $i0)))
          (local.set $v (v128.load (local.get $i1)))
          (local.set $t (v128.load (local.get $j0)))
          (local.set $a0 (f32x4.add (local.get $a0) (f32x4.mul (local.get $u) (local.get $t))))
          (local.set $c0 (f32x4.add (local.get $c0) (f32x4.mul (local.get $v) (local.get $t))))
          (local.set $t (v128.load (local.get $j1)))
          (local.set $a1 (f32x4.add (local.get $a1) (f32x4.mul (local.get $u) (local.get $t))))
          (local.set $c1 (f32x4.add (local.get $c1) (f32x4.mul (local.get $v) (local.get $t))))
          (local.set $t (v128.load (local.get $j2)))
          (local.set $a2 (f32x4.add (local.get $a2) (f32x4.mul (local.get $u) (local.get $t))))
          (local.set $c2 (f32x4.add (local.get $c2) (f32x4.mul (local.get $v) (local.get $t))))
          (local.set $t (v128.load (local.get $j3)))
          (local.set $a3 (f32x4.add (local.get $a3) (f32x4.mul (local.get $u) (local.get $t))))
          (local.set $c3 (f32x4.add (local.get $c3) (f32x4.mul (local.get $v) (local.get $t))))
          (local.set $j0 (i32.add (local.get $j0) (i32.const 16)))
          (local.set $j1 (i32.add (local.get $j1) (i32.const 16)))
          (local.set $j2 (i32.add (local.get $j2) (i32.const 16)))
          (local.set $j3 (i32.add (local.get $j3) (i32.const 16)))
          (local.set $i1 (i32.add (local.get $i1) (i32.const 16)))
          (br_if $four_numbers
            (i32.lt_u (local.tee $i0 (i32.add (local.get $i0) (i32.const 16))) (local.get $end))))
        (local.set $out (i32.add (local.get $y) (i32.add (i32.mul (local.get $s) (local.get $high))
                                                         (i32.shl (local.get $n) (i32.const 2)))))
        (call $store (local.get $out) (local.get $b) (local.get $a0) (local.get $a1) (local.get $a2) (local.get $a3))
        (if (i32.eqz (local.get $last)) (then
          (call $store (i32.add (local.get $out) (local.get $high)) (local.get $b)
                       (local.get $c0) (local.get $c1) (local.get $c2) (local.get $c3))))
        (br_if $two_rows_of_x
          (i32.lt_u (local.tee $s (i32.add (local.get $s) (i32.const 2))) (local.get $S))))
      (local.set $b (i32.add (local.get $b) (i32.const 16)))
      (br_if $four_rows_of_w
        (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 4))) (local.get $N))))))
