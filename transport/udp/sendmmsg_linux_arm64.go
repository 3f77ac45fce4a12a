package udp

import "syscall"

const sysSendmmsg = syscall.SYS_SENDMMSG
