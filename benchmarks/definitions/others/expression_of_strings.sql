SELECT count(DISTINCT upper(c_mktsegment || c_phone))
FROM customer
