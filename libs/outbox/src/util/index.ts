export { DefaultJsonCodec } from './default-json-codec.js';
export { JsonCodec } from './json-codec.js';
