import { expect, test } from 'vitest'
import { assertReadable, MessageOverLimit } from './serverMessage.ts'

const MB = 1024 * 1024
const WIDE = `[${'{},'.repeat(MB)}{}]`

function overLimit(text: string): MessageOverLimit {
  try {
    assertReadable(text, MB)
  } catch (error) {
    if (error instanceof MessageOverLimit) return error
  }
  throw new Error('The message is not over a limit.')
}

test.each([
  ['an answer, id first', `{"jsonrpc":"2.0","id":7,"result":${WIDE}}`, 7, undefined],
  ['an answer, id last', `{"result":${WIDE},"jsonrpc":"2.0","id":7}`, 7, undefined],
  ['a question, id last', `{"method":"ping","params":${WIDE},"jsonrpc":"2.0","id":"q"}`, 'q', 'ping'],
  ['a question, method last', `{"id":"q","params":${WIDE},"method":"ping","jsonrpc":"2.0"}`, 'q', 'ping'],
  ['a notification', `{"jsonrpc":"2.0","method":"ping","params":${WIDE}}`, undefined, 'ping'],
  ['an id inside', `{"jsonrpc":"2.0","result":{"a":${WIDE},"id":7}}`, undefined, undefined],
  ['short, and too deep', `{"jsonrpc":"2.0","id":7,"result":${'['.repeat(200)}${']'.repeat(200)}}`, 7, undefined],
])('a message over a limit says whom it is for: %s', (_, text, id, method) => {
  const { id: found, method: named } = overLimit(text)
  expect([found, named]).toEqual([id, method])
})
