import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { readOnce } from './endpoint.ts'

test('a body is let go once it is read, although its request lives on', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const make = () => {
    const body = { text: 'x'.repeat(1000) }
    return { kept: new WeakRef(body), json: readOnce(body, ({ text }) => text.length) }
  }
  const { kept, json } = make()
  expect(json()).toBe(1000)
  await new Promise((resolve) => setTimeout(resolve)) // a reference that was looked at stays until the turn ends
  collect()
  expect([kept.deref(), typeof json]).toEqual([undefined, 'function'])
})
