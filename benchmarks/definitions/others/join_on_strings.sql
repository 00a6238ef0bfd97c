SELECT count(*)
FROM customer a JOIN customer b ON a.c_name = b.c_name
