import type { HttpWire } from './http.ts'
import type { StdioWire } from './stdio.ts'

/** A server as the probe sees it: something that can be asked on connections that nobody has used. */
export type Wire = HttpWire | StdioWire
