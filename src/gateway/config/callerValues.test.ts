import { describe, expect, test } from 'vitest'
import { dependOnPrincipal, valuesFor } from './index.ts'

const ann = { id: 'ann', claims: { team: 'red', level: 7, admin: false, 'https://example.com/role': 'boss' } }

test('what a caller is stands in the headers for a server', () => {
  const headers = {
    'X-User': '${principal.id}',
    'X-All': '${ principal.claims.team }/${principal.claims.level}/${principal.claims.admin}',
    'X-Role': '${principal.claims.https://example.com/role}',
    'X-Key': 'k${other}',
  }
  expect(valuesFor('header', headers, ann)).toEqual({
    kind: 'values',
    values: { 'X-User': 'ann', 'X-All': 'red/7/false', 'X-Role': 'boss', 'X-Key': 'k${other}' },
  })
})

test('headers without such a variable are for everyone', () => {
  expect(valuesFor('header', { 'X-Key': 'k' }, undefined)).toEqual({ kind: 'values', values: { 'X-Key': 'k' } })
  expect(valuesFor('header', undefined, undefined)).toEqual({ kind: 'values', values: {} })
  expect(dependOnPrincipal({ 'X-Key': '$k' })).toBe(false)
  expect(dependOnPrincipal({ 'X-Key': 'a ${principal.id}' })).toBe(true)
  expect(dependOnPrincipal()).toBe(false)
})

test('a value that looks like a variable is not replaced again', () => {
  const result = valuesFor(
    'header',
    { 'X-A': '${principal.claims.a}' },
    { id: 'i', claims: { a: '${principal.id}$&' } },
  )
  expect(result).toEqual({ kind: 'values', values: { 'X-A': '${principal.id}$&' } })
})

describe('nothing is sent where a value cannot stand in a header', () => {
  const claims = {
    lines: 'a\r\nX-Admin: yes',
    other: 'Åse',
    ends: ' Ben',
    empty: '',
    list: ['a'],
    zero: 'a\0b',
    no: null,
  }
  test.each([
    ...Object.keys(claims).map((name) => `\${principal.claims.${name}}`),
    '${principal.claims.absent}',
    '${principal.claims.constructor}',
  ])('%s', (value) => {
    const result = valuesFor('header', { 'X-First': '1', 'X-User': `u-${value}` }, { id: 'ann', claims })
    expect(result).toEqual({ kind: 'refused', sentence: expect.stringMatching(/^The header X-User .*\.$/) })
    for (const each of ['Admin', 'Åse', 'Ben']) expect(JSON.stringify(result)).not.toContain(each)
  })

  test('and an anonymous caller has no values', () => {
    expect(valuesFor('header', { 'X-User': '${principal.id}' }, undefined)).toEqual({
      kind: 'refused',
      sentence: 'The header X-User for this server needs principal.id, and the caller is anonymous.',
    })
  })
})

test('a variable of a process may have any characters but none that ends it, and is never empty', () => {
  const values = { WHO: '<${principal.claims.who}>', KEY: 'k' }
  const valuesOf = (who: unknown) => valuesFor('variable', values, { id: 'ann', claims: { who } })
  expect(valuesOf(' Åse\n')).toEqual({ kind: 'values', values: { WHO: '< Åse\n>', KEY: 'k' } })
  const sentence =
    'The variable WHO for this server needs principal.claims.who, and that of this caller cannot stand in a variable.'
  expect(valuesOf('a\0b')).toEqual({ kind: 'refused', sentence })
  expect(valuesOf('')).toEqual({ kind: 'refused', sentence })
})
