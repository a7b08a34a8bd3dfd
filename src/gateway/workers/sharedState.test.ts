import { expect, test } from 'vitest'
import { WorkersState } from './sharedState.ts'

const topic = 'a server'

test('of several processes the first one says what is true, and again after it was not', () => {
  const news = new WorkersState()
  const [one, two] = [news.forProcess().methods, news.forProcess().methods]
  expect(one.isNews({ topic, text: 'down' })).toBe(true)
  expect(two.isNews({ topic, text: 'down' })).toBe(false)
  expect(two.isNews({ topic, text: 'refused' })).toBe(true)
  expect(two.isNews({ topic: 'another', text: 'down' })).toBe(true)
  expect(one.isNews({ topic, text: undefined })).toBe(false)
  expect(two.isNews({ topic, text: 'down' })).toBe(true)
  expect(one.isNews({ topic, text: 'down' })).toBe(false)
})

test('what a process has said that ended is said by those that begin to know it', () => {
  const news = new WorkersState()
  const [one, two] = [news.forProcess(), news.forProcess()]
  one.methods.isNews({ topic, text: 'down' })
  one.endAll()
  expect(two.methods.isNews({ topic, text: 'down' })).toBe(true)
  expect(news.forProcess().methods.isNews({ topic, text: 'down' })).toBe(false)
})
