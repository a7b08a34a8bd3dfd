import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { IpcChannel } from './channel.ts'

interface Adder {
  add(params: { a: number; b: number }): Promise<number>
}

interface Nothing {
  refuse(params: object): never
}

/** Two ends of one channel. */
function pair() {
  const [near, far] = [new EventEmitter(), new EventEmitter()]
  const end = (own: EventEmitter, other: EventEmitter) => ({
    send: (message: object) => other.emit('message', structuredClone(message)),
    on: (event: 'message', listener: (message: unknown) => void) => own.on(event, listener),
    once: (event: 'disconnect', listener: () => void) => own.once(event, listener),
  })
  const asking = new IpcChannel<Nothing, Adder>(end(near, far), {
    refuse: () => {
      throw Object.assign(new TypeError('No.'), { code: 'EADDRINUSE' })
    },
  })
  const answering = new IpcChannel<Adder, Nothing>(end(far, near), {
    add: async ({ a, b }) => (b === 0 ? new Promise(() => undefined) : a + b),
  })
  return { asking, answering, near }
}

test('both ends ask and answer, each request its own', async () => {
  const { asking, answering } = pair()
  expect(await Promise.all([asking.ask('add', { a: 1, b: 2 }), asking.ask('add', { a: 3, b: 4 })])).toEqual([3, 7])
  const refused = await answering.ask('refuse', {}).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(TypeError)
  expect(refused).toMatchObject({ message: 'No.', code: 'EADDRINUSE' })
})

test('other messages on the channel are left alone', async () => {
  const { asking, near } = pair()
  for (const message of ['text', null, { cmd: 'NODE_CLUSTER' }, { answer: 99 }]) near.emit('message', message)
  expect(await asking.ask('add', { a: 1, b: 1 })).toBe(2)
})

test('who waits is told when the other process ends, and so is who asks later', async () => {
  const { asking, near } = pair()
  const waiting = asking.ask('add', { a: 1, b: 0 })
  near.emit('disconnect')
  await expect(waiting).rejects.toThrow('The other process has ended.')
  await expect(asking.ask('add', { a: 1, b: 1 })).rejects.toThrow('The other process has ended.')
})
