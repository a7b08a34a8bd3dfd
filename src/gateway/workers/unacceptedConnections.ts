/**
 * Connections that a worker has been given and has not accepted. `node:cluster` forgets one whose worker ends meanwhile: it
 * stays open, nobody reads it, and its client waits for ever. Here it is closed, so that the client hears of it at once.
 *
 * How connections are given is internal to `node:cluster`: a message with a number, and one back with the same number. Where a
 * version of Node does it in another way, nothing is closed here.
 */
import type { Worker } from 'node:cluster'
import { isObject } from '../../protocol/index.ts'

interface Closable {
  close(): void
}

export function closeUnaccepted({ process: child }: Worker): void {
  const unaccepted = new Map<unknown, Closable>()
  const send = child.send.bind(child) as (...args: readonly unknown[]) => boolean
  child.send = (...args: readonly unknown[]): boolean => {
    const [message, handle] = args
    if (isOfCluster(message) && message['act'] === 'newconn' && isClosable(handle))
      unaccepted.set(message['seq'], handle)
    return send(...args)
  }
  child.on('internalMessage', (message: unknown) => {
    if (isOfCluster(message)) unaccepted.delete(message['ack'])
  })
  // Not when it disconnects: while a connection is on its way, that does not come.
  child.once('exit', () => {
    for (const handle of unaccepted.values()) handle.close()
    unaccepted.clear()
  })
}

function isOfCluster(message: unknown): message is Record<string, unknown> {
  return isObject(message) && message['cmd'] === 'NODE_CLUSTER'
}

function isClosable(handle: unknown): handle is Closable {
  return isObject(handle) && typeof handle['close'] === 'function'
}
