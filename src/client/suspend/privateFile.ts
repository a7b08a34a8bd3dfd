import { randomUUID } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Puts a file in place that only its owner can read. It is whole or it is the one before, also after a crash. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const draft = join(dirname(path), `.${randomUUID()}.saving`)
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}
