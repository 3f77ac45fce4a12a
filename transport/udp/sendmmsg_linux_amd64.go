package udp

// sysSendmmsg is the number of sendmmsg(2). Package syscall defines it on other processors only.
const sysSendmmsg = 307
