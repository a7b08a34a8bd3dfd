/** The interop server on standard input and output. */
import { createServer } from 'pannier/server'
import { offer } from '../fixtures/tools.ts'

await offer(createServer({ name: 'interop', version: '1.0.0', pageSize: 3 })).stdio()
