import { expect, test } from 'vitest'
import { parseDocument } from './document.ts'

test.each<[text: string, is30: boolean]>([
  ['{"openapi":"3.0.3"}', true],
  ['{"openapi":"3.1.0"}', false],
  ['\ufeff{"openapi":"3.1.1"}', false],
  ['openapi: 3.0.0', true],
  ['openapi: 3.0', true],
  ['openapi: "3.1"', false],
  ['{openapi: 3.1.0}', false],
])('%j is a document', async (text, is30) => {
  expect(await parseDocument(text)).toMatchObject({ is30 })
})

const bomb = [
  'a: &a [x, x]',
  ...'bcdefghijklmnopqrstuvwxyz'.split('').map((name, at) => {
    const former = String.fromCharCode('a'.charCodeAt(0) + at)
    return `${name}: &${name} [*${former}, *${former}]`
  }),
].join('\n')

test.each([
  ['{"swagger":"2.0"}', /It is of Swagger 2\.0/],
  ['{"openapi":"4.0.0"}', /OpenAPI 3\.0 and 3\.1 are supported/],
  ['{"openapi":"3.10.0"}', /OpenAPI 3\.0 and 3\.1 are supported/],
  ['[]', /It is no object/],
  ['', /It is no object/],
  ['<html>', /It is no object/],
  ['a: 1\nb: [', /nor valid YAML at line 2\.$/],
  [`{"openapi":"3.0.0","x":${'['.repeat(200)}${']'.repeat(200)}}`, /nests deeper than 128 levels/],
  [`openapi: 3.0.0\nx: ${'['.repeat(2000)}`, /nor valid YAML/],
  [`openapi: 3.0.0\n${bomb}`, /nor valid YAML|has more than/],
  [`openapi: 3.0.0\nx: "${'x'.repeat(9_000_000)}"`, /too large for YAML/],
])('a text is refused: %.40j', async (text, sentence) => {
  await expect(parseDocument(text)).rejects.toMatchObject({
    code: 'OPENAPI_INVALID',
    message: expect.stringMatching(sentence),
  })
})
