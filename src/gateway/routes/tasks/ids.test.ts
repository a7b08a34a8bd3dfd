import { expect, test } from 'vitest'
import { createKeyring, createMarks, newKey } from '../../../state/seal/index.ts'
import { TaskIds } from './ids.ts'

const ids = new TaskIds(createMarks(createKeyring(newKey()), 'task /mcp'))
const ann = { id: 'ann' }

test.each([
  { server: 'crm', id: 'print_1' },
  { server: 'a:b/ü', id: 'has:colons:and\nlines' },
])('the id of %j is resolved for its caller', (own) => {
  expect(ids.resolve(ids.exposed(own, ann), ann)).toEqual(own)
  expect(ids.resolve(ids.exposed(own, undefined), undefined)).toEqual(own)
})

test('an id of another caller, of another server, or a bent one is none', () => {
  const exposed = ids.exposed({ server: 'crm', id: '1' }, ann)
  const mark = exposed.split(':').at(-1) ?? ''
  expect(ids.resolve(exposed, { id: 'bob' })).toBeUndefined()
  expect(ids.resolve(exposed, undefined)).toBeUndefined()
  for (const bent of [`erp:1:${mark}`, `crm:2:${mark}`, `crm:1`, '1', '', `%ff:1:${mark}`, `${exposed}x`])
    expect(ids.resolve(bent, ann), bent).toBeUndefined()
})
