// Builds the page of the console with Vite: `npm run build` into dist, and a gateway that runs from the sources into the cache,
// when the page is first asked for.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'vite'
import { listFiles, root } from './repository.ts'

const SOURCES = join(root, 'src/console')

async function buildInto(outDir: string): Promise<void> {
  await build({
    configFile: false,
    root: SOURCES,
    base: '/console/',
    logLevel: 'warn',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: { outDir, emptyOutDir: true, target: 'es2022', modulePreload: { polyfill: false }, assetsInlineLimit: 0 },
  })
}

/** The folder of the page as the sources are now. */
export async function builtConsole(): Promise<string> {
  const digest = createHash('sha256')
  const files = listFiles().filter((path) => path.startsWith('src/console/') && !path.includes('.test.'))
  for (const path of [...files, 'package-lock.json', 'scripts/console.ts'].toSorted())
    digest.update(path).update(await readFile(join(root, path)))
  const folder = join(root, 'node_modules/.cache/pannier-console', digest.digest('hex').slice(0, 16))
  if (existsSync(folder)) return folder
  const unfinished = `${folder}-${process.pid}`
  await mkdir(unfinished, { recursive: true })
  await buildInto(unfinished)
  // Of several processes that build, the first one's folder stays.
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true, force: true }))
  return folder
}

if (import.meta.main) await buildInto(join(root, 'dist/console'))
