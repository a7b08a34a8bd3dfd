import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { FormerRoutes } from './former.ts'
import type { Route } from './route.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function begin() {
  const drain = vi.fn(async () => {})
  const assembly = { cluster: { mediaType: 'application/message' } }
  const route = { path: '/mcp/files', assembly, drain } as unknown as Route
  const former = new FormerRoutes<Route>()
  former.keep(route)
  const at = (headers: Record<string, string>) => former.at('/mcp/files', (name) => headers[name])
  return { former, route, drain, at }
}

test.each([
  [{ 'mcp-session-id': 's' }, true],
  [{ 'mcp-method': 'tools/call' }, true],
  [{ 'mcp-method': 'prompts/get' }, true],
  [{ 'mcp-method': 'resources/read' }, true],
  [{ 'content-type': 'application/message' }, true],
  [{}, false],
  [{ 'content-type': 'application/json' }, false],
  [{ 'mcp-method': 'tools/list' }, false],
  [{ 'mcp-method': 'server/discover' }, false],
  [{ 'mcp-method': 'subscriptions/listen' }, false],
])('a request with the headers %j is served at an address that is gone: %s', (headers, isServed) => {
  const { at, route } = begin()
  expect(at(headers)).toBe(isServed ? route : undefined)
})

test('an address that is gone is closed after 25 seconds', () => {
  const { at, route, drain } = begin()
  vi.advanceTimersByTime(24_999)
  expect(at({ 'mcp-session-id': 's' })).toBe(route)
  expect(drain).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(at({ 'mcp-session-id': 's' })).toBeUndefined()
  expect(drain).toHaveBeenCalledOnce()
})

test('an address that is there again is not closed', () => {
  const { former, route, drain } = begin()
  expect(former.take('/mcp/files')).toBe(route)
  expect(former.take('/mcp/files')).toBeUndefined()
  vi.advanceTimersByTime(60_000)
  expect(drain).not.toHaveBeenCalled()
})
