import { describe, expect, test } from 'vitest'
import { documentOf } from './document.ts'
import { operationsOf } from './operations.ts'
import { Unsendable } from './parameters.ts'
import { requestOf } from './request.ts'

async function sent(operation: object, args: object, { base = 'https://a.example/v1', path = '/b', own = {} } = {}) {
  const { operations } = await operationsOf(documentOf({ openapi: '3.1.0', paths: { [path]: { post: operation } } }))
  const [found] = operations
  if (found === undefined) throw new Error('There is no operation.')
  return requestOf(found, new URL(base), { ...args }, own)
}

const query = { parameters: [{ name: 'q', in: 'query', schema: {} }] }

describe('the address', () => {
  test.each<[base: string, path: string, args: object, expected: string]>([
    ['https://a.example', '/b', {}, 'https://a.example/b'],
    ['https://a.example/v1/', '/b', {}, 'https://a.example/v1/b'],
    ['https://a.example/v1?key=k', '/b', { q: 1 }, 'https://a.example/v1/b?key=k&q=1'],
    ['https://a.example/v1?q=operator', '/b', { q: 'caller' }, 'https://a.example/v1/b?q=operator'],
    ['https://a.example/v1', '/b?q=path', { q: 'caller' }, 'https://a.example/v1/b?q=path'],
    ['https://a.example/v1', '/b?action=c', { q: 1 }, 'https://a.example/v1/b?action=c&q=1'],
    ['https://a.example', '//evil.example/b', {}, 'https://a.example//evil.example/b'],
    ['https://a.example', '/@evil.example', {}, 'https://a.example/@evil.example'],
  ])('%s with %s and %j', async (base, path, args, expected) => {
    expect((await sent(query, args, { base, path })).url.href).toBe(expected)
  })

  test.each(['/../admin', '/b/../../admin', '/%2e%2e/admin'])(
    'does not leave its base with the path %s',
    async (path) => {
      await expect(sent(query, {}, { path })).rejects.toThrow(Unsendable)
    },
  )
})

test.each([{ 'a\r\nb': '1' }, { 'x=1; session': 'mine' }])('a cookie is one cookie with the name %j', async (prefs) => {
  const parameters = [{ name: 'prefs', in: 'cookie', schema: { type: 'object' }, style: 'form', explode: true }]
  const { headers } = await sent({ parameters }, { prefs }, { own: { cookie: 'session=operator' } })
  const [own, ...others] = (headers.get('cookie') ?? '').split('; ')
  expect([own, others.length]).toEqual(['session=operator', 1])
  expect(others[0]).toMatch(/^[\w%]+=[\w%]+$/)
})

describe('the body', () => {
  const form = (encoding: object) => ({
    requestBody: { content: { 'application/x-www-form-urlencoded': { schema: {}, encoding } } },
  })

  test.each<[encoding: object, body: object, expected: string]>([
    [{}, { a: 'b c', d: ['e', 'f'] }, 'a=b%20c&d=e&d=f'],
    [{}, { a: { b: 1 } }, 'a=%7B%22b%22%3A1%7D'],
    [{ a: { style: 'deepObject', explode: true } }, { a: { b: [1] } }, 'a%5Bb%5D%5B0%5D=1'],
    [{ a: { style: 'form', explode: false } }, { a: ['b', 'c'] }, 'a=b%2Cc'],
  ])('is a form with the encoding %j', async (encoding, body, expected) => {
    const request = await sent(form(encoding), { body })
    expect([request.body, request.headers.get('content-type')]).toEqual([expected, 'application/x-www-form-urlencoded'])
  })

  test('is text where the document says text', async () => {
    const request = await sent({ requestBody: { content: { 'text/plain': {} } } }, { body: 'a' })
    expect([request.body, request.headers.get('content-type')]).toEqual(['a', 'text/plain'])
  })

  test('is none without the argument', async () => {
    const request = await sent(form({}), {})
    expect([request.body, request.headers.get('content-type')]).toEqual([undefined, null])
  })
})

describe('the headers', () => {
  const parameters = ['x-key', 'x-other'].map((name) => ({ name, in: 'header', schema: {} }))

  test('of the operator are replaced by no argument', async () => {
    const { headers } = await sent({ parameters }, { 'x-key': 'theirs', 'x-other': 'o' }, { own: { 'X-Key': 'ours' } })
    expect([headers.get('x-key'), headers.get('x-other')]).toEqual(['ours', 'o'])
  })

  test('have the cookies of both', async () => {
    const cookies = { parameters: [{ name: 'a', in: 'cookie', schema: {} }] }
    const { headers } = await sent(cookies, { a: 'b; c=d' }, { own: { cookie: 'k=v' } })
    expect(headers.get('cookie')).toBe('k=v; a=b%3B%20c%3Dd')
  })

  test('accept what the operation answers', async () => {
    const responses = { 200: { content: { 'application/vnd.a+json': {}, 'text/csv': {} } } }
    expect((await sent({ responses }, {})).headers.get('accept')).toBe('application/vnd.a+json, */*;q=0.1')
  })
})

test('members of the prototype are no arguments', async () => {
  const parameters = ['constructor', 'toString'].map((name) => ({ name, in: 'query', schema: {} }))
  expect((await sent({ parameters }, {})).url.search).toBe('')
})
