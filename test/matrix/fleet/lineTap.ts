/** Where servers on standard input and output say each line before it goes on (`serving/lines.ts`). */
import { createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import type { OnPassing } from './passing.ts'

export interface LineTap {
  /** Processes that are connected, the newest last. */
  readonly processes: readonly number[]
  close(): void
}

export async function startLineTap(path: string, onPassing: OnPassing): Promise<LineTap> {
  const sockets = new Map<Socket, number>()
  const server = createServer((socket) => {
    sockets.set(socket, 0)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    let last: Promise<void> | undefined
    const lines = createInterface(socket)
    lines.on('error', () => {}) // its process was killed
    lines.on('line', (line) => {
      const [, pid = '', way, body = ''] = /^(\d+) (in|out) (.*)$/s.exec(line) ?? []
      sockets.set(socket, Number(pid))
      const pass = async (before: Promise<void> | undefined): Promise<void> => {
        await before
        await onPassing({ way: 'gateway ↔ server', target: pid, what: way === 'in' ? 'request' : 'part', body })
        if (!socket.destroyed) socket.write('\n')
      }
      last = pass(last)
    })
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  return {
    get processes() {
      return [...sockets.values()].filter((pid) => pid > 0)
    },
    close: () => {
      server.close()
      for (const socket of sockets.keys()) socket.destroy()
    },
  }
}
