export { faultOf } from '../../faults/fault-of.js';
