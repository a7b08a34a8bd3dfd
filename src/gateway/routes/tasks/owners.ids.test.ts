import { expect, test } from 'vitest'
import { createKeyring, createMarks, newKey } from '../../../state/seal/index.ts'
import { TaskIds } from './owners.ts'

const ids = new TaskIds(createMarks(createKeyring(newKey()), 'task /mcp'))
const ann = { id: 'ann' }

test.each([
  { server: 'crm', id: 'print_1' },
  { server: 'a:b/ü', id: 'has:colons:and\nlines' },
  { server: 'a@b', id: 'at@home', owner: { id: 'one', url: 'http://10.0.0.7/mcp' } },
  { server: 'crm', id: '1', owner: { id: 'one', url: undefined } },
])('the id of %j is resolved for its caller', (own) => {
  expect(ids.resolve(ids.exposed(own, ann), ann)).toEqual(own)
  expect(ids.resolve(ids.exposed(own, undefined), undefined)).toEqual(own)
})

test('the owner of a task is not to be changed', () => {
  const owner = { id: 'one', url: 'http://10.0.0.7/mcp' }
  const exposed = ids.exposed({ server: 'crm', id: '1', owner }, ann)
  const other = ids.exposed({ server: 'crm', id: '1', owner: { id: 'two', url: 'http://10.0.0.8/mcp' } }, ann)
  const [place, mark] = [other.split(':')[0] ?? '', exposed.split(':').at(-1) ?? '']
  for (const bent of [`${place}:1:${mark}`, `crm:1:${mark}`, `crm@!:1:${mark}`, `crm@AAAA:1:${mark}`])
    expect(ids.resolve(bent, ann), bent).toBeUndefined()
})

test('an id shows no address, and has one form', () => {
  const owner = { id: 'one', url: 'http://10.0.0.7/mcp' }
  const exposed = ids.exposed({ server: 'crm', id: '1', owner }, ann)
  expect(exposed).toBe(ids.exposed({ server: 'crm', id: '1', owner }, ann))
  const place = Buffer.from(exposed.split(/[@:]/)[1] ?? '', 'base64url').toString()
  expect(place).not.toContain('10.0.0.7')
  expect(ids.resolve(ids.exposed({ server: 'crm', id: '1' }, ann).replace('crm:', 'crm@AAAA:'), ann)).toBeUndefined()
})

test('an id of another caller, of another server, or a bent one is none', () => {
  const exposed = ids.exposed({ server: 'crm', id: '1' }, ann)
  const mark = exposed.split(':').at(-1) ?? ''
  expect(ids.resolve(exposed, { id: 'bob' })).toBeUndefined()
  expect(ids.resolve(exposed, undefined)).toBeUndefined()
  for (const bent of [`erp:1:${mark}`, `crm:2:${mark}`, `crm:1`, '1', '', `%ff:1:${mark}`, `${exposed}x`])
    expect(ids.resolve(bent, ann), bent).toBeUndefined()
})
