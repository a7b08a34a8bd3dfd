import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { InputRequest } from '@modelcontextprotocol/client'
import { afterAll, describe, expect, test } from 'vitest'
import { proves } from '../../../test/proves.ts'
import type { Asked } from '../questions/answerer.ts'
import { defaults, fixed, refuse, folders, model } from './builtin.ts'
import type { Given } from '../questions/response.ts'
import { terminal } from './terminal.ts'

function asked(request: InputRequest, key = 'it'): Asked {
  const call = { method: 'tools/call', name: 'x' }
  return { key, request, call, server: { name: 's', target: undefined }, signal: new AbortController().signal }
}

function form(properties: object, required: string[] = []): InputRequest {
  const requestedSchema = { type: 'object', properties, required }
  return { method: 'elicitation/create', params: { message: 'm', requestedSchema } } as InputRequest
}

const page = {
  method: 'elicitation/create',
  params: { mode: 'url', message: 'm', url: 'https://a.example' },
} as InputRequest
const sampling: InputRequest = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }
const roots: InputRequest = { method: 'roots/list' }

describe('defaults', () => {
  const all = {
    name: { type: 'string', default: 'Ada' },
    age: { type: 'integer', default: 36 },
    score: { type: 'number', default: 0.5 },
    colour: { type: 'string', enum: ['red', 'blue'], default: 'blue' },
    tags: { type: 'array', items: { enum: ['a', 'b'] }, default: ['b'] },
    ok: { type: 'boolean', default: false },
    nick: { type: 'string' },
  }

  test('accepts with every default filled in, and leaves the rest out', async () => {
    expect(await defaults()(asked(form(all, ['name', 'ok'])))).toEqual({
      action: 'accept',
      content: { name: 'Ada', age: 36, score: 0.5, colour: 'blue', tags: ['b'], ok: false },
    })
  })

  test('a form without fields is accepted', async () => {
    expect(await defaults()(asked(form({})))).toEqual({ action: 'accept', content: {} })
  })

  proves('MRTR-32', 'what nobody can answer is declined: a required field without a default, and a page', async () => {
    expect(await defaults()(asked(form(all, ['nick'])))).toEqual({ action: 'decline' })
    expect(await defaults()(asked(page))).toEqual({ action: 'decline' })
  })

  test('leaves the rest to another answerer, whatever kind it is of', async () => {
    const some = defaults({ otherwise: ({ request }) => ({ action: 'cancel', method: request.method }) })
    for (const request of [form(all, ['nick']), page, sampling, roots]) {
      expect(await some(asked(request))).toEqual({ action: 'cancel', method: request.method })
    }
    expect(await some(asked(form({})))).toEqual({ action: 'accept', content: {} })
  })

  test('a default that its own field refuses counts for nothing', async () => {
    const age = { type: 'integer', minimum: 18, default: 3 }
    expect(await defaults()(asked(form({ age }, ['age'])))).toEqual({ action: 'decline' })
    expect(await defaults()(asked(form({ age })))).toEqual({ action: 'accept', content: {} })
  })
})

describe('fixed', () => {
  const agree = form({ ok: { type: 'boolean' } }, ['ok'])

  test.each<[string, Given, object]>([
    ['content', { ok: true }, { action: 'accept', content: { ok: true } }],
    ['a response', { action: 'accept', content: { ok: false } }, { action: 'accept', content: { ok: false } }],
    ['an action', 'decline', { action: 'decline' }],
    ['a cancel', { action: 'cancel' }, { action: 'cancel' }],
  ])('gives %s by its key', async (_, given, response) => {
    expect(await fixed({ it: given })(asked(agree))).toEqual(response)
  })

  test('a form may have a field called action', async () => {
    const request = form({ action: { type: 'string' }, why: { type: 'string' } })
    const content = { action: 'accept', why: 'x' }
    expect(await fixed({ it: content })(asked(request))).toEqual({ action: 'accept', content })
  })

  test('answers pages, models and folders with whole responses', async () => {
    const said = { role: 'assistant', model: 'm', content: { type: 'text', text: 'hi' } }
    const answers = { page: 'accept', sampling: said, roots: { roots: [] } } as const
    expect(await fixed(answers)(asked(page, 'page'))).toEqual({ action: 'accept' })
    expect(await fixed(answers)(asked(sampling, 'sampling'))).toEqual(said)
    expect(await fixed(answers)(asked(roots, 'roots'))).toEqual({ roots: [] })
  })

  test.each<[string, InputRequest, Given]>([
    ['a missing field', agree, {}],
    ['a field of another type', agree, { ok: 'secret-value' }],
    ['a field that was not asked for', agree, { ok: true, password: 'secret-value' }],
    ['no content', agree, 'accept'],
    ['content for a page', page, { action: 'accept', content: { a: 1 } }],
    ['a model without words', sampling, { model: 'secret-value' }],
    ['folders without addresses', roots, { roots: [{ name: 'secret-value' }] }],
  ])('is checked before it is sent: %s', (_, request, given) => {
    const give = (): unknown => fixed({ it: given })(asked(request))
    expect(give).toThrow(expect.objectContaining({ code: 'RESPONSE_INVALID' }))
    expect(give).not.toThrow(/secret-value/)
  })

  test('a question without an answer is an error, or goes to somebody else', async () => {
    const unasked = asked(agree, 'toString\u001b[2J')
    expect(() => fixed({})(unasked)).toThrow(expect.objectContaining({ code: 'QUESTION_UNANSWERED' }))
    expect(() => fixed({})(unasked)).not.toThrow('\u001b')
    expect(await fixed({}, { otherwise: refuse() })(unasked)).toEqual({ action: 'decline' })
  })

  test('a pushed question has no key, so the error says what helps instead of one', async () => {
    const pushed = { ...asked(agree, '0'), isPushed: true }
    const message = expect.stringMatching(/^(?!.*"0").*have no keys.*"otherwise"/)
    expect(() => fixed({})(pushed)).toThrow(expect.objectContaining({ code: 'QUESTION_UNANSWERED', message }))
    expect(await fixed({}, { otherwise: refuse() })(pushed)).toEqual({ action: 'decline' })
  })
})

describe('refuse', () => {
  proves('MRTR-32', 'forms and pages are declined or cancelled', async () => {
    expect(await refuse()(asked(form({})))).toEqual({ action: 'decline' })
    expect(await refuse('cancel')(asked(page))).toEqual({ action: 'cancel' })
  })

  test('folders are none, and a model says nothing', async () => {
    expect(await refuse()(asked(roots))).toEqual({ roots: [] })
    expect(() => refuse()(asked(sampling))).toThrow(expect.objectContaining({ code: 'QUESTION_REFUSED' }))
  })
})

describe('model', () => {
  test('gives what the function says, as the protocol wants it', async () => {
    const seen: unknown[] = []
    const answer = await model((params, { key }) => {
      seen.push(params, key)
      return { model: 'm1', content: 'hello', stopReason: 'endTurn' }
    })(asked(sampling))
    expect(answer).toEqual({
      role: 'assistant',
      model: 'm1',
      content: { type: 'text', text: 'hello' },
      stopReason: 'endTurn',
    })
    expect(seen).toEqual([{ messages: [], maxTokens: 1 }, 'it'])
  })

  test('content in the protocol’s form goes through, and anything else is an error', async () => {
    const blocks = [
      { type: 'text', text: 'a' },
      { type: 'tool_use', id: '1', name: 't', input: {} },
    ]
    expect(await model(() => ({ model: 'm', content: blocks }))(asked(sampling))).toMatchObject({ content: blocks })
    const broken = model(() => ({ model: 7, content: 'x' }) as never)
    await expect(broken(asked(sampling))).rejects.toMatchObject({ code: 'RESPONSE_INVALID' })
  })
})

describe('folders', () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'pannier-folders-')))
  afterAll(() => rmSync(home, { recursive: true, force: true }))
  mkdirSync(join(home, 'a b#c'))
  symlinkSync(join(home, 'a b#c'), join(home, 'link'))
  writeFileSync(join(home, 'file'), '')

  test('are file addresses of their real paths, with names', async () => {
    const list = [join(home, 'link'), { path: join(home, 'a b#c'), name: 'Work' }]
    const uri = pathToFileURL(join(home, 'a b#c')).href
    expect(await folders(list)(asked(roots))).toEqual({
      roots: [
        { uri, name: 'a b#c' },
        { uri, name: 'Work' },
      ],
    })
    expect(uri).toMatch(/a%20b%23c$/)
    expect(await folders([])(asked(roots))).toEqual({ roots: [] })
  })

  test.each(['gone', 'file'])('a path that is no folder is an error: %s', async (name) => {
    await expect(folders([join(home, name)])(asked(roots))).rejects.toMatchObject({ code: 'FOLDER_UNUSABLE' })
  })
})

test('an answerer refuses questions of a kind that is not its own', async () => {
  for (const [answerer, request] of [
    [defaults(), roots],
    [defaults(), sampling],
    [model(() => ({ model: 'm', content: '' })), page],
    [folders([]), form({})],
    [terminal(), sampling],
    [terminal(), roots],
  ] as const) {
    const answer = (async () => answerer(asked(request)))()
    await expect(answer).rejects.toMatchObject({ code: 'QUESTION_UNSUPPORTED' })
  }
})
