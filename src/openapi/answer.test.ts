import { expect, test } from 'vitest'
import { bodyOf, resultOf } from './answer.ts'
import type { Operation } from './operations.ts'

const operation = { name: 'a', output: undefined } as unknown as Operation

function result(
  body: string | Uint8Array<ArrayBuffer>,
  type: string,
  { status = 200, output = undefined as object | undefined } = {},
) {
  const response = new Response(status === 204 ? null : body, { status, headers: { 'content-type': type } })
  Object.defineProperty(response, 'url', { value: 'https://a.example/b?key=secret' })
  return resultOf({ ...operation, output } as Operation, response, Buffer.from(body), '')
}

const text = (value: string) => [{ type: 'text', text: value }]

test.each<[what: string, found: object, expected: object]>([
  ['an object', result('{"a":1}', 'application/json'), { content: text('{"a":1}'), structuredContent: { a: 1 } }],
  ['a list', result('[1]', 'application/problem+json'), { content: text('[1]') }],
  ['text', result('a', 'text/csv'), { content: text('a') }],
  ['JSON that is none', result('{', 'application/json'), { content: text('{') }],
  ['nothing', result('', '', { status: 204 }), { content: text('The API answered HTTP 204 without content.') }],
  ['an image', result('a', 'image/png'), { content: [{ type: 'image', mimeType: 'image/png', data: 'YQ==' }] }],
  [
    'bytes, without the query of their address',
    result('a', 'application/zip'),
    {
      content: [
        { type: 'resource', resource: { uri: 'https://a.example/b', mimeType: 'application/zip', blob: 'YQ==' } },
      ],
    },
  ],
  [
    'a list that fits its schema',
    result('[1]', 'application/json', { output: { type: 'array' } }),
    { content: text('[1]'), structuredContent: [1] },
  ],
  [
    'no content where there should be some',
    result('', '', { status: 204, output: { type: 'object' } }),
    { isError: true, content: [{ text: expect.stringContaining('HTTP 204, so the call was made') }] },
  ],
])('%s', (_, found, expected) => {
  expect(found).toMatchObject(expected)
})

test('an error has a limited body, and none that is no text', () => {
  const [long, bytes] = [
    result('x'.repeat(10_000), 'text/plain', { status: 500 }),
    result('\0', 'image/png', { status: 500 }),
  ]
  expect(long.isError).toBe(true)
  expect(JSON.stringify(long).length).toBeLessThan(4200)
  expect(bytes.content).toEqual(text('The API answered HTTP 500.'))
})

test('a body that is too long is not read to its end', async () => {
  let pulled = 0
  let isCancelled = false
  const body = new ReadableStream({
    pull: (controller) => {
      pulled++
      controller.enqueue(new Uint8Array(1000))
    },
    cancel: () => void (isCancelled = true),
  })
  expect(await bodyOf(new Response(body), 5000)).toBeUndefined()
  expect([pulled < 10, isCancelled]).toEqual([true, true])
})
