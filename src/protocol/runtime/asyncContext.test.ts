import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.resetModules()
})

async function freshContext() {
  vi.resetModules()
  const { createAsyncContext } = await import('./asyncContext.ts')
  return createAsyncContext<string>()
}

test('a value is seen after an await, and outside not at all', async () => {
  const context = await freshContext()
  const seen = context.run('inner', async () => {
    await Promise.resolve()
    return context.getStore()
  })
  expect([context.getStore(), await seen]).toEqual([undefined, 'inner'])
})

test('an edge function has the class as a global', async () => {
  class Global {
    run = (_: unknown, fn: () => unknown): unknown => fn()
    getStore = (): string => 'of the global'
  }
  vi.stubGlobal('process', undefined)
  vi.stubGlobal('AsyncLocalStorage', Global)
  expect((await freshContext()).getStore()).toBe('of the global')
})

test('without the class, a value is seen up to the first await', async () => {
  vi.stubGlobal('process', undefined)
  const context = await freshContext()
  const later = context.run('inner', async () => {
    expect(context.getStore()).toBe('inner')
    await Promise.resolve()
    return context.getStore()
  })
  expect([context.getStore(), await later]).toEqual([undefined, undefined])
  expect(() =>
    context.run('fails', () => {
      throw new Error('on purpose')
    }),
  ).toThrow('on purpose')
  expect(context.getStore()).toBeUndefined()
})
