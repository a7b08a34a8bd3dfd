import { describe, expect, test } from 'vitest'
import { documentOf } from './document.ts'
import { operationsOf } from './operations.ts'

const json = (schema: object) => ({ content: { 'application/json': { schema } } })

async function read(paths: object, more: object = {}) {
  return operationsOf(documentOf({ openapi: '3.1.0', paths, ...more }))
}

/** The tool of one operation. */
async function tool(operation: object, method = 'get', path = '/a') {
  const { operations, leftOut } = await read({ '/z': { get: {} }, [path]: { [method]: operation } })
  return { tool: operations[1], why: leftOut[0]?.why }
}

describe('the name', () => {
  test.each<[operation: object, path: string, name: string]>([
    [{ operationId: 'listPets' }, '/a', 'listPets'],
    [{ operationId: 'pets/list pets.all' }, '/a', 'pets_list_pets_all'],
    [{}, '/pets/{id}/photo', 'get__pets_id_photo'],
    [{ operationId: '__proto__' }, '/a', 'proto'],
    [{ operationId: 'äöü' }, '/a', 'operation'],
    [{ operationId: 'x'.repeat(100) }, '/a', 'x'.repeat(64)],
  ])('of %j at %s is %s', async (operation, path, name) => {
    const parameters = path.includes('{') ? [{ name: 'id', in: 'path', schema: {} }] : []
    expect((await tool({ ...operation, parameters }, 'get', path)).tool?.name).toBe(name)
  })

  test('is another one for each operation', async () => {
    const named = { operationId: 'x'.repeat(70) }
    const { operations } = await read({
      '/a': { get: named, put: named },
      '/b': { get: named, put: { operationId: `${'x'.repeat(62)}_2` } },
    })
    const names = operations.map(({ name }) => name)
    expect([new Set(names).size, names.every(({ length }) => length <= 64)]).toEqual([4, true])
  })
})

test('arguments are named as models may name them, and never twice', async () => {
  const parameters = ['filter[a]', 'filter_a', '$top', 'body', '__proto__'].map((name) => ({
    name,
    in: 'query',
    schema: {},
  }))
  const { tool: found } = await tool({ parameters, requestBody: json({}) }, 'post')
  expect(Object.keys(found?.input['properties'] ?? {})).toEqual([
    'filter_a',
    'filter_a_2',
    'top',
    'body',
    'proto',
    'body_2',
  ])
  expect(found?.body?.argument).toBe('body_2')
})

test('a parameter of an operation replaces that of its path', async () => {
  const limit = (maximum: number) => ({ name: 'limit', in: 'query', schema: { maximum } })
  const { operations } = await read({ '/a': { parameters: [limit(1)], get: { parameters: [limit(2)] } } })
  expect(operations[0]?.input['properties']).toEqual({ limit: { maximum: 2 } })
})

test.each(['Accept', 'Authorization', 'content-type', 'Host', 'Content-Length', 'Cookie'])(
  'a parameter of the header %s is none',
  async (name) => {
    expect((await tool({ parameters: [{ name, in: 'header', schema: {} }] })).tool?.parameters).toEqual([])
  },
)

test.each<[method: string, annotations: object]>([
  ['get', { readOnlyHint: true }],
  ['head', { readOnlyHint: true }],
  ['post', {}],
  ['patch', {}],
  ['put', { idempotentHint: true }],
  ['delete', { destructiveHint: true, idempotentHint: true }],
])('the annotations of %s are %j', async (method, annotations) => {
  expect((await tool({}, method)).tool?.annotations).toEqual(annotations)
})

test.each<[operation: object, description: string]>([
  [{ summary: 'A.', description: 'B.' }, 'A.\n\nB.'],
  [{ summary: 'A.', description: 'A.' }, 'A.'],
  [{ description: 'B.', deprecated: true }, 'Deprecated.\n\nB.'],
  [{}, 'GET /a'],
])('%j is described as %j', async (operation, description) => {
  expect((await tool(operation)).tool?.description).toBe(description)
})

describe('the body', () => {
  test.each<[types: readonly string[], chosen: string | undefined]>([
    [['application/x-www-form-urlencoded', 'application/json'], 'application/json'],
    [['application/vnd.api+json'], 'application/vnd.api+json'],
    [['*/*'], 'application/json'],
    [['multipart/form-data', 'application/x-www-form-urlencoded'], 'application/x-www-form-urlencoded'],
    [['application/xml'], 'application/xml'],
    [['text/plain'], 'text/plain'],
    [['multipart/form-data'], undefined],
  ])('of %j is %s', async (types, chosen) => {
    const content = Object.fromEntries(types.map((type) => [type, { schema: {} }]))
    expect((await tool({ requestBody: { content } }, 'post')).tool?.body?.mediaType).toBe(chosen)
  })
})

describe('the output', () => {
  const pet = { type: 'object', properties: { id: { type: 'integer' } } }

  test.each<[what: string, responses: object, output: object | undefined]>([
    ['is that of a success', { 200: json(pet), 404: json({}) }, pet],
    ['is that of two equal ones', { 200: json(pet), 201: json(pet) }, pet],
    ['may be a list', { 200: json({ type: 'array', items: pet }) }, { type: 'array', items: pet }],
    ['is none where successes differ', { 200: json(pet), 202: json({ type: 'string' }) }, undefined],
    ['is none where one has no content', { 200: json(pet), 204: {} }, undefined],
    ['is none where it is no JSON', { 200: { content: { 'text/csv': { schema: {} } } } }, undefined],
    ['is none where it is too large', { 200: json({ enum: ['x'.repeat(20_000)] }) }, undefined],
  ])('%s', async (_, responses, output) => {
    expect((await tool({ responses })).tool?.output).toEqual(output)
  })
})

describe('an operation is left out', () => {
  const parameter = (more: object) => ({ parameters: [{ name: 'x', in: 'query', schema: {}, ...more }] })

  test.each<[what: string, operation: object, why: RegExp]>([
    ['with a style that is not supported', parameter({ in: 'path', style: 'matrix' }), /"x" has the style "matrix"/],
    ['with a parameter without a place', parameter({ in: 'body' }), /has no name, or is in none of/],
    [
      'with a header that cannot be sent',
      parameter({ in: 'header', name: 'a\r\nb' }),
      /has a name that cannot be sent/,
    ],
    ['with a reference to another document', { $ref: 'a.yaml' }, /leads to another document/],
    [
      'with files in its body',
      { requestBody: { required: true, content: { 'multipart/form-data': {} } } },
      /must be multipart\/form-data, which is not supported/,
    ],
  ])('%s', async (_, operation, why) => {
    expect(await tool(operation)).toMatchObject({ tool: undefined, why: expect.stringMatching(why) })
  })

  test('whose path has a name that is no parameter', async () => {
    expect((await tool({}, 'get', '/a/{b}')).why).toMatch(/has \{b\}, which is no parameter/)
  })

  test('with all others of a path that cannot be read', async () => {
    const { leftOut } = await read({ '/a': { get: {} }, '/b': { $ref: 'b.yaml' } })
    expect(leftOut).toEqual([{ operation: '/b', why: expect.stringMatching(/another document/) }])
  })
})

const many = (count: number, operation: object) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`/p${at}`, { get: operation }]))

test.each<[what: string, paths: object, sentence: RegExp]>([
  ['without operations', {}, /has no operations/],
  ['of which no operation can be served', { '/a': { trace: {} } }, /None of the operations.*TRACE \/a: TRACE is sent/],
  ['of 10,000 operations', many(10_000, {}), /has 10000 operations, and at most 2000/],
  [
    'with too many large schemas',
    many(600, { parameters: [{ name: 'x', in: 'query', schema: { enum: ['x'.repeat(30_000)] } }] }),
    /have more than 8000000 characters/,
  ],
])('a document %s is refused', async (_, paths, sentence) => {
  await expect(read(paths)).rejects.toThrow(sentence)
})

test('a fragment tells uses of one path apart, and is not sent', async () => {
  const { operations } = await read({ '/a#one': { post: {} }, '/a#two': { post: {} } })
  expect(operations.map(({ name, path }) => `${name} ${path}`)).toEqual(['post__a_one /a', 'post__a_two /a'])
})

test('a name of a million characters is read as far as it counts', async () => {
  const operationId = `a${'_'.repeat(1_000_000)}b`
  const { operations } = await operationsOf(documentOf({ openapi: '3.1.0', paths: { '/b': { get: { operationId } } } }))
  expect(operations.map(({ name }) => name)).toEqual(['a'])
})
