import { describe, expect, test } from 'vitest'
import { parseUriTemplate } from './uriTemplate.ts'

describe('a resource template', () => {
  test.each([
    ['test://template/{id}/data', 'test://template/123/data', { id: '123' }],
    ['test://template/{id}/data', 'test://template/1%202/data', { id: '1 2' }],
    ['test://template/{id}/data', 'test://template/1%2F2/data', undefined],
    ['docs://{name}', 'docs://..%2F..%2Fetc', undefined],
    ['docs://{name}', 'docs://..', undefined],
    ['docs://{name}', 'docs://..%5Cetc', undefined],
    ['a://{+path}/{file}.txt', 'a://b/c/d.txt', { path: 'b/c', file: 'd' }],
    ['a://{x}/{+path}', 'a://b/c/d', { x: 'b', path: 'c/d' }],
    ['a://{owner}-{name}', 'a://b-c-d', { owner: 'b', name: 'c-d' }],
    ['a://fixed', 'a://fixed', {}],
    ['a://fixed', 'a://fixed/more', undefined],
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

  test.each(['a://{x}/{x}', 'a://{?q}', 'a://{x*}', 'a://{x', 'a://x}', 'a://{x}{y}', 'a://{+a}/{+b}'])(
    '%s is refused',
    (template) => {
      expect(() => parseUriTemplate(template)).toThrow(TypeError)
    },
  )

  test.each([
    ['repo://{owner}-{name}', `repo://${'-'.repeat(8000)}/`],
    ['r://{a}/{b}/{c}/{+d}', `r://${'/'.repeat(8000)}`],
    ['docs://{name}', `docs://${'a'.repeat(4_000_000)}`],
  ])('%s looks at a hostile address once', (template, uri) => {
    const parsed = parseUriTemplate(template)
    const before = process.cpuUsage()
    for (let turn = 0; turn < 100; turn++) parsed.match(uri)
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2000)
  })
})
