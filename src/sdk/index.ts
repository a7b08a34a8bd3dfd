export { type RequestStateCodec, type RequestStateCodecOptions, requestStateCodec } from './requestStateCodec.ts'
export { type JournalContext, type Journaled, type WithJournalOptions, withJournal } from './withJournal.ts'
