/**
 * Closes connections that were handed to a worker and that it has not accepted when it ends. `node:cluster` leaves them
 * open without a reader, so that their clients would wait without end.
 *
 * The handover is internal to `node:cluster`: a message with a number, and a reply with the same number. If a version of
 * Node changes that, nothing is closed here.
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
  // The event `disconnect` does not come while a handle is in transit.
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
