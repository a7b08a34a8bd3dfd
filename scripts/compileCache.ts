// Imported for its effect: every process that starts after this keeps what it compiled, types stripped, for the others
// and for the next run. A process that is killed keeps nothing; one that ends does.
import { join } from 'node:path'
import { root } from './repository.ts'

export const compileCache = join(root, 'node_modules/.cache/pannier-compiled')

process.env['NODE_COMPILE_CACHE'] ??= compileCache
