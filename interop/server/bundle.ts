/** The server in one file: clients on stdio start it again and again, and some wait only a second for it. */
import { join } from 'node:path'
import { rolldown } from 'rolldown'

/** Writes it into the folder, and gives its path. */
export async function bundleServer(folder: string): Promise<string> {
  const bundle = await rolldown({
    input: join(import.meta.dirname, 'serve.ts'),
    platform: 'node',
    resolve: { conditionNames: ['pannier-source', 'node'] },
    external: ['pg'],
    logLevel: 'silent',
  })
  await bundle.write({ dir: folder, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' })
  await bundle.close()
  return join(folder, 'serve.mjs')
}
