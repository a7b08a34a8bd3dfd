import { expect, test } from 'vitest'
import { asCommand, asCurl, callMessage } from './callTexts.ts'

test('quotation marks in arguments stay inside the word of a shell', () => {
  const args = { text: "it's; rm -rf $HOME" }
  expect(asCommand('say', args)).toBe(`npx pannier call "$URL" 'say' --json '{"text":"it'\\''s; rm -rf $HOME"}'`)
  expect(asCurl('say', args)).toContain(`'\\''`)
})

test('a later round has the parameters of the first, the answers and the state', () => {
  const first = callMessage('say', { a: 1 }, 1) as { readonly params: object }
  const more = { inputResponses: { sure: { action: 'accept' } }, requestState: 'sealed' }
  expect(callMessage('say', { a: 1 }, 2, more)).toMatchObject({ id: 2, params: { ...first.params, ...more } })
})
