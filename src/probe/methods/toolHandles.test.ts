import { expect, test } from 'vitest'
import { handlesIn, toolsIn } from './toolHandles.ts'

const gives = (name: string, ...properties: string[]) => ({
  name,
  inputSchema: { type: 'object' },
  outputSchema: { type: 'object', properties: Object.fromEntries(properties.map((property) => [property, {}])) },
})
const takes = (name: string, ...required: string[]) => ({ name, inputSchema: { type: 'object', required } })

test('an id that one tool gives out and others require is a handle', () => {
  const tools = [
    gives('create_basket', 'basket_id', 'total'),
    takes('add_item', 'basket_id', 'sku'),
    takes('pay', 'basket_id'),
  ]
  expect(handlesIn(tools)).toEqual([{ handle: 'basket_id', from: ['create_basket'], to: ['add_item', 'pay'] }])
})

test.each([
  ['what nobody gives out', [takes('add_item', 'basket_id')]],
  ['what nobody takes', [gives('create', 'basket_id')]],
  ['what is no id', [gives('add', 'sum'), takes('show', 'sum')]],
  ['what a tool gives to itself', [{ ...gives('next', 'page_id'), ...takes('next', 'page_id') }]],
  ['odd schemas', [{ name: 1, inputSchema: 'x', outputSchema: { properties: [] } }, takes('a')]],
])('%s is none', (_, tools) => {
  expect(handlesIn(tools)).toEqual([])
})

test('a list that a server made to be long is cut', () => {
  const many = Array.from({ length: 3_000 }, (_, n) => ({ ...gives(`g${n}`, 'a_id', 'b_id') }))
  const all = toolsIn({
    tools: [...many.slice(0, 500), ...Array.from({ length: 3_000 }, (_, n) => takes(`t${n}`, 'a_id'))],
  })
  const [handle] = handlesIn(all)
  expect(all).toHaveLength(1_000)
  expect(handle).toMatchObject({ handle: 'a_id', from: { length: 10 }, to: { length: 10 } })
})

test('a list that says the same again and again is read once', () => {
  const again = Array.from({ length: 400_000 }, () => 'a_id')
  const started = performance.now()
  expect(
    handlesIn([
      gives('g', 'a_id'),
      takes('t', ...again.slice(0, 100_000)),
      { name: 't', inputSchema: { required: again } },
    ]),
  ).toEqual([{ handle: 'a_id', from: ['g'], to: ['t'] }])
  expect(performance.now() - started).toBeLessThan(5_000)
})
