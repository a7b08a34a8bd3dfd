import { expect, test } from 'vitest'
import { createServer } from './createServer.ts'
import { localBus, type ServerEvent } from './lifecycle/eventBus.ts'

test('what is added before a server is reachable is no change, what is added later is one', () => {
  const bus = localBus()
  const heard: ServerEvent[] = []
  bus.subscribe((event) => heard.push(event))
  const server = createServer({ name: 'quiet', version: '1.0.0', bus })
  server.tool('early', { description: 'Is there from the start' }, () => 'x')
  expect(heard).toEqual([])
  server.fetchHandler()
  server.tool('late', { description: 'Comes later' }, () => 'x')
  server.remove('tools', 'early')
  expect(heard).toEqual([
    { kind: 'changed', list: 'tools' },
    { kind: 'changed', list: 'tools' },
  ])
})

test.each([
  ['no name', { name: '', version: '1.0.0' }, 'a name and a version'],
  ['a store that is missing', { name: 'x', version: '1.0.0', carry: 'store' as const }, 'needs a store'],
  ['a key that is none', { name: 'x', version: '1.0.0', keys: 'secret' }, 'key'],
])('a server with %s is refused with what to do', (_, options, words) => {
  expect(() => createServer(options)).toThrow(words)
})

test('a server without tasks has no questions, and says what stores them', () => {
  const server = createServer({ name: 'x', version: '1.0.0' })
  expect(() => server.questions).toThrow('Questions are stored with tasks')
})
