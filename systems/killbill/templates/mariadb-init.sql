CREATE DATABASE killbill CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE USER '{{ settings.database_user }}'@'127.0.0.1' IDENTIFIED BY '{{ settings.database_password }}';
GRANT ALL ON killbill.* TO '{{ settings.database_user }}'@'127.0.0.1';
