import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'

const run = promisify(execFile)

/** Every module that a process loads when it imports a subpath of the package, and whether it loads SQLite. */
async function loadedBy(subpath: string): Promise<{ urls: string[]; sqlite: boolean }> {
  const program = `
    import { registerHooks } from 'node:module'
    const urls = []
    registerHooks({ load: (url, context, next) => { urls.push(url); return next(url, context) } })
    await import('${subpath}')
    const sqlite = process.moduleLoadList.includes('NativeModule sqlite')
    console.log(JSON.stringify({ urls, sqlite }))`
  const flags = ['--conditions=pannier-source', '--input-type=module', '--eval', program]
  const { stdout } = await run(process.execPath, flags)
  return JSON.parse(stdout)
}

const JAR = /\/src\/state\/(jar\/|index\.ts)|\/node_modules\/tldts/

describe('importing a subpath', () => {
  test.each(['pannier/server', 'pannier/sdk', 'pannier/testing', 'pannier/tasks', 'pannier/postgres'])(
    '%s loads what it uses of src/state, but neither the jar with its rules for domains nor SQLite',
    async (subpath) => {
      const { urls, sqlite } = await loadedBy(subpath)
      expect(urls.filter((url) => url.endsWith('/src/state/errors.ts'))).toHaveLength(1)
      expect(urls.filter((url) => JAR.test(url))).toEqual([])
      expect(urls.filter((url) => url.includes('/rate-limiter-flexible/'))).toEqual([])
      expect(sqlite).toBe(false)
    },
  )

  test('pannier/state loads the jar, and SQLite only when a file is opened', async () => {
    const { urls, sqlite } = await loadedBy('pannier/state')
    expect(urls.filter((url) => JAR.test(url))).not.toEqual([])
    expect(sqlite).toBe(false)
  })
})
