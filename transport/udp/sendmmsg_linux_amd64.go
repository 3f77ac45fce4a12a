package udp

// sysSendmmsg is the number of sendmmsg(2), which package syscall names on other processors only.
const sysSendmmsg = 307
