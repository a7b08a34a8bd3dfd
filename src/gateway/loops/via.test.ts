import { expect, test } from 'vitest'
import { newGatewayId, Via } from './via.ts'

test('a server that tells of many gateways leaves room for those that others tell of', () => {
  const via = new Via({ id: 'gateway-0000' })
  const [liar, honest] = [via.before(), via.before()]
  liar.hear(Array.from({ length: 100 }, newGatewayId).join(', '))
  honest.hear('gateway-0001, gateway-0002')
  const names = via.behind.split(', ')
  expect(names).toHaveLength(64)
  expect(names).toEqual(expect.arrayContaining(['gateway-0000', 'gateway-0001', 'gateway-0002']))
})

test('a server leads to the gateways that it tells of, by whatever way a request came', () => {
  const entry = new Via().before()
  expect(entry.leadsTo('gateway-0001')).toBe(false)
  entry.hear('gateway-0001, gateway-0002')
  expect(entry.leadsTo('gateway-0003, gateway-0002')).toBe(true)
  expect(entry.leadsTo('gateway-0003, no name')).toBe(false)
  entry.hear(undefined)
  expect(entry.leadsTo('gateway-0002')).toBe(false)
})
