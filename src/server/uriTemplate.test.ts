import { describe, expect, test } from 'vitest'
import { parseUriTemplate } from './uriTemplate.ts'

describe('a resource template', () => {
  test.each([
    ['test://template/{id}/data', 'test://template/123/data', { id: '123' }],
    ['test://template/{id}/data', 'test://template/1%2F2/data', { id: '1/2' }],
    ['test://template/{id}/data', 'test://template/1/2/data', undefined],
    ['test://template/{id}/data', 'test://template//data', undefined],
    ['file:///{+path}', 'file:///a/b/c.txt', { path: 'a/b/c.txt' }],
    ['a://{x}.{y}', 'a://1.2', { x: '1', y: '2' }],
    ['a://b.c/{x}', 'a://bXc/1', undefined],
    ['a://{x}', 'a://%E0%A4%A', undefined],
    ['a://{__proto__}', 'a://x', Object.fromEntries([['__proto__', 'x']])],
  ])('%s matches %s as %j', (template, uri, variables) => {
    const found = parseUriTemplate(template).match(uri)
    expect(found === undefined ? undefined : Object.entries(found)).toEqual(variables && Object.entries(variables))
  })

  test.each(['a://{x}/{x}', 'a://{?q}', 'a://{x*}', 'a://{x', 'a://x}'])('%s is refused', (template) => {
    expect(() => parseUriTemplate(template)).toThrow(TypeError)
  })
})
