import { expect, test } from 'vitest'
import { rawHeaderReader } from './node.ts'

test('a header is found by its lower-case name, however it was spelled', () => {
  const header = rawHeaderReader(['Host', 'a', 'MCP-Method', 'tools/call', 'mcp-NAME', 'echo'])
  expect(['host', 'mcp-method', 'mcp-name', 'accept'].map(header)).toEqual(['a', 'tools/call', 'echo', undefined])
})

test('a header sent twice shows both values', () => {
  expect(rawHeaderReader(['Mcp-Name', 'a', 'X', '1', 'mcp-name', 'b'])('mcp-name')).toBe('a, b')
})

test('an empty header is there, and empty', () => {
  expect(rawHeaderReader(['X', ''])('x')).toBe('')
})
